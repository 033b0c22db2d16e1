"""Values of flags."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.cli.node_cache import make_parser, read_settings
from waypost.nodecache.settings import (
    Settings,
    SettingsError,
    health_checked,
    parse_local_ips,
    parse_port,
    parse_sync_interval,
)


def read(*words: str) -> Settings:
    return read_settings(make_parser().parse_args(["-localip", "169.254.20.10", *words]))


def test_addresses_as_the_kernel_writes_them() -> None:
    assert [str(each) for each in Settings(("FD00:0::1:A", "fd00::1:b")).addresses] == ["fd00::1:a", "fd00::1:b"]
    assert Settings(("::ffff:169.254.20.10",)).version == 4


@pytest.mark.parametrize(
    ("text", "seconds"), [("60ns", 60), ("60", 60), ("60s", 60), ("1m30s", 90), ("1ns", 1), ("1500ms", 1.5)]
)
def test_sync_interval(text: str, seconds: float) -> None:
    assert parse_sync_interval(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "0ns", "-5s", "x", "1e3", "999999h", "9" * 400, "\u0661s"])
def test_sync_intervals_that_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="invalid syncinterval"):
        parse_sync_interval(text)


@pytest.mark.parametrize("text", ["0", "65536", "-1", "http", "", "5 3", "\u0665\u0663"])
def test_ports_that_are_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="invalid healthcheck port specified"):
        parse_port(text, "healthcheck port")


def test_the_address_of_the_node_is_asked_before_that_of_the_service() -> None:
    addresses = [ip_address("10.96.0.10"), ip_address("169.254.20.10")]
    assert str(health_checked(addresses)) == "169.254.20.10"
    assert str(health_checked(addresses[:1])) == "10.96.0.10"


@given(st.text())
def test_any_text_is_an_address_or_an_error(text: str) -> None:
    try:
        found = parse_local_ips(text)
    except SettingsError:
        return
    assert len(Settings(found).addresses) == text.count(",") + 1


def test_flags_are_spelled_as_in_go() -> None:
    for words in (["-dns.port", "1053"], ["--dns.port=1053"], ["-p=1053"], ["-p", "53", "-dns.port=1053"]):
        assert read(*words).port == "1053"
    assert not read("-setupiptables=false").sets_up_rules
    assert read("--skipteardown").skips_teardown
    assert read("-conf", "a", "-corefile", "b").corefile == "a"
    assert read("-corefile", "b").corefile == "b"
    assert read().pid_file == "/etc/Corefile.pid"


@pytest.mark.parametrize(
    "words",
    [
        ["-setupiptables=perhaps"],
        ["-rules", "ipvs"],
        ["-hangtimeout", "-1"],
        ["-hangtimeout", "nan"],
        ["-interfacename", "sixteen-bytes-16"],
        ["-interfacename", "a/b"],
        ["-metrics-listen-address", "9353"],
        ["-unknown"],
    ],
)
def test_flags_that_are_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read(*words)
    assert ended.value.code == 2
    assert "usage: waypost node-cache" in capsys.readouterr().err
