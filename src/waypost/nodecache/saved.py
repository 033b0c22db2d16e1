"""What `iptables-save` prints, and the input of `iptables-restore` that adds what is missing or removes what is ours.

Rules are found by what they do: versions of iptables write them in different ways, with `-j NOTRACK` or
`-j CT --notrack`, with and without a prefix length.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from waypost.nodecache.rules import Protocol, Rule, Side

_SIDES: Final[Mapping[str, tuple[str, Side]]] = {
    "-d": ("--dport", "destination"),
    "-s": ("--sport", "source"),
}
_PROTOCOLS: Final[Mapping[str, Protocol]] = {"tcp": "tcp", "udp": "udp"}
_TARGETS: Final = {"raw": (["-j", "NOTRACK"], ["-j", "CT", "--notrack"]), "filter": (["-j", "ACCEPT"],)}


class Saved(NamedTuple):
    """A rule that stands: what it does, and its line behind `-A `."""

    rule: Rule
    line: str


def read_saved(text: str) -> list[Saved]:
    """Every rule of `iptables-save` that has the shape of ours, whatever its address and ports."""
    found = []
    table = ""
    for line in text.splitlines():
        if line.startswith("*"):
            table = line[1:].strip()
        elif line.startswith("-A "):
            rule = _read_rule(table, line)
            if rule is not None:
                found.append(Saved(rule, line[3:]))
    return found


def additions(wanted: Sequence[Rule], standing: Iterable[Saved]) -> str:
    """Input of `iptables-restore --noflush` that puts what is missing in front; empty if nothing is."""
    there = {each.rule for each in standing}
    return _restore((rule.table, f"-I {rule.chain} {_quoted(rule.arguments)}") for rule in wanted if rule not in there)


def removals(wanted: Iterable[Rule], standing: Iterable[Saved]) -> str:
    """Input of `iptables-restore --noflush` that removes each of these as often as it stands; empty if none does."""
    ours = set(wanted)
    return _restore((each.rule.table, f"-D {each.line}") for each in standing if each.rule in ours)


def _restore(edits: Iterable[tuple[str, str]]) -> str:
    by_table: dict[str, list[str]] = {}
    for table, edit in edits:
        by_table.setdefault(table, []).append(edit)
    return "".join(f"*{table}\n{_lines(lines)}COMMIT\n" for table, lines in by_table.items())


def _quoted(words: Iterable[str]) -> str:
    """`iptables-restore` knows double quotes only."""
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _read_rule(table: str, line: str) -> Rule | None:
    """The rule, if taking its options away leaves nothing."""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    options = dict(_pairs(words))
    for flag, (port_flag, side) in _SIDES.items():
        if flag in options and port_flag in options and table in _TARGETS:
            protocol = _PROTOCOLS.get(options.get("-p", ""))
            if protocol is None:
                return None
            address = options[flag].removesuffix("/32").removesuffix("/128")
            rule = Rule(table, options.get("-A", ""), protocol, side, address, options[port_flag])
            return rule if sorted(_without_module(words)) in _spellings(rule, options[flag]) else None
    return None


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    return pairwise(words)


def _without_module(words: Sequence[str]) -> list[str]:
    """Without `-m udp` and the like, which say nothing more."""
    left = list(words)
    for at in range(len(left) - 2, -1, -1):
        if left[at] == "-m":
            del left[at : at + 2]
    return left


def _spellings(rule: Rule, address: str) -> list[list[str]]:
    port_flag = "--dport" if rule.side == "destination" else "--sport"
    flag = "-d" if rule.side == "destination" else "-s"
    words = ["-A", rule.chain, flag, address, "-p", rule.protocol, port_flag, rule.port, "--comment", rule.comment]
    return [sorted([*words, *target]) for target in _TARGETS[rule.table]]
