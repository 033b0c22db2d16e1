"""The recorded rules of NodeLocal DNSCache: what its flags give, what is put in, and what is left."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.nodecache import CASES, Chains, line, rules_of
from waypost.cli.node_cache import make_parser, read_settings
from waypost.nodecache.rules import Match, Rule, rules, untracked, wait_arguments
from waypost.nodecache.saved import additions, read_saved, removals
from waypost.nodecache.settings import Settings, SettingsError

CURRENT = "1.8.7"


def settings_of(case: dict[str, Any]) -> Settings:
    return read_settings(make_parser().parse_args(["-conf", "Corefile", "-setupinterface=false", *case["flags"]]))


def made(case: dict[str, Any]) -> list[Rule]:
    settings = settings_of(case)
    return rules(settings.local_ips, settings.port, settings.health_port) if settings.sets_up_rules else []


def recorded(works: bool) -> Any:
    return pytest.mark.parametrize(
        "case", [pytest.param(each, id=each["id"]) for each in CASES if ("fatal" not in each["expect"]) == works]
    )


@recorded(works=True)
def test_rules(case: dict[str, Any]) -> None:
    found = [{"table": rule.table, "chain": rule.chain, "args": rule.arguments} for rule in made(case)]
    assert found == rules_of(case)


@recorded(works=True)
def test_program_and_its_patience(case: dict[str, Any]) -> None:
    if rules_of(case):
        version = tuple(map(int, case.get("iptables_version", CURRENT).split(".")))
        assert wait_arguments(version) == case["expect"]["wait_args"]
        assert {4: "iptables", 6: "ip6tables"}[settings_of(case).version] == case["expect"]["binary"]


@recorded(works=True)
def test_what_is_put_in_and_what_is_left(case: dict[str, Any]) -> None:
    wanted = made(case)
    chains = Chains(wanted, case.get("chains_before"))
    missing = {number for operation, number, _ in case["expect"]["setup"] if operation == "-I"}
    text = additions(wanted, read_saved(chains.save()))
    assert text.count("-I ") == len(missing)
    chains.restore(text)
    assert chains.chains == case["expect"]["chains_after_setup"]
    assert additions(wanted, read_saved(chains.save())) == ""
    if not settings_of(case).skips_teardown:
        chains.restore(removals(wanted, read_saved(chains.save())))
    assert chains.chains == case["expect"]["chains_after_exit"]


@recorded(works=False)
def test_flags_that_are_refused(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SettingsError) as error:
        settings_of(case)
    assert f"Error parsing flags - {error.value}, Exiting" == case["expect"]["fatal"]


def test_nothing_else_is_taken_for_a_rule_of_ours() -> None:
    ours = rules(["169.254.20.10"], "53", "8080")
    good = line(ours[0])
    others = [
        good.replace("skip conntrack", "skip"),
        good.replace("-j NOTRACK", "-j DROP"),
        good.replace("-d ", "! -d "),
        good.replace("-m comment", "-i eth0 -m comment"),
        good.replace("-p tcp", "-p sctp"),
        good + ' "',
    ]
    saved = "*raw\n" + "".join(f"-A {each}\n" for each in others) + "*nat\n" + f"-A {good}\nCOMMIT\n"
    assert removals(ours, read_saved(saved)) == ""
    assert additions(ours, read_saved(saved)) == additions(ours, [])


def test_other_ways_to_write_a_rule() -> None:
    ours = rules(["fd00::1"], "53", "8080")[:1]
    for text in (
        line(ours[0]),
        line(ours[0]).replace("-j NOTRACK", "-j CT --notrack"),
        line(ours[0]).replace("/128", ""),
    ):
        found = read_saved(f"*raw\n-A {text}\nCOMMIT\n")
        assert [each.rule for each in found] == ours
        assert removals(ours, found) == f"*raw\n-D {text}\nCOMMIT\n"


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    assert additions([], read_saved(text)) == removals([], read_saved(text)) == ""


@given(st.lists(st.integers(0, 11), max_size=40))
def test_whatever_stands_ends_whole_and_then_empty(numbers: list[int]) -> None:
    wanted = rules(["10.96.0.10"], "53", "8080")
    before: dict[str, list[int]] = {}
    for number in numbers:
        before.setdefault(f"{wanted[number].table}/{wanted[number].chain}", []).append(number)
    chains = Chains(wanted, before)
    chains.restore(additions(wanted, read_saved(chains.save())))
    assert {number for found in chains.chains.values() for number in found} == set(range(12))
    chains.restore(removals(wanted, read_saved(chains.save())))
    assert not any(chains.chains.values())


def test_untracked_once_for_all_addresses() -> None:
    found = untracked(rules(["169.254.20.10", "10.96.0.10"], "53", "8080"))
    assert len(found) == 8
    assert found[0] == Match("PREROUTING", "tcp", "destination", 53)
    assert Match("OUTPUT", "tcp", "source", 8080) in found
