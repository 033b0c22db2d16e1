"""The directive, and the weight file that it may name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.caching import records
from support.chain import FakeProcess, make_directive, make_site, run
from waypost.corefile.errors import CorefileError
from waypost.log import Log
from waypost.plugins.loadbalance import parse, setup
from waypost.plugins.loadbalance.handler import Subnet
from waypost.plugins.loadbalance.setup import Config
from waypost.plugins.loadbalance.weights import WeightError, WeightFile, parse_weights

WEIGHTS = """
# addresses of the shop
www.example.org
192.0.2.1 3
2001:db8::1   255

API.example.org.
192.0.2.1 7
"""


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("loadbalance", Config()),
        ("loadbalance round_robin", Config()),
        ("loadbalance {\nprefer\n}", Config()),
        ("loadbalance {\nprefer 10.9.9.9/8\n}", Config((Subnet(4, 0xFF000000, 0x0A000000),))),
        ("loadbalance weighted w", Config(weight_file="w", reload=30)),
        ("loadbalance weighted w {\nreload 5s\n}", Config(weight_file="w", reload=5)),
        ("loadbalance weighted w {\nreload 0s\n}", Config(weight_file="w", reload=0)),
    ],
)
def test_accepted(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


AT = "Corefile:{} - Error during parsing: "


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("loadbalance round_robin x", AT.format(2) + "unknown property for round_robin"),
        ("loadbalance random", "unknown policy: random"),
        ("loadbalance weighted", AT.format(2) + "missing weight file argument"),
        ("loadbalance weighted w x", AT.format(2) + "unexpected argument(s)"),
        ("loadbalance {\nfoo\n}", AT.format(3) + "unknown property 'foo'"),
        ("loadbalance {\nreload 5s\n}", AT.format(3) + "unknown property 'reload'"),
        ("loadbalance weighted w {\nprefer 10.0.0.0/8\n}", AT.format(3) + "unknown property 'prefer'"),
        (
            "loadbalance {\nprefer 10.0.0.0\n}",
            AT.format(3) + 'invalid CIDR "10.0.0.0": invalid CIDR address: 10.0.0.0',
        ),
        ("loadbalance weighted w {\nreload x\n}", AT.format(3) + "invalid reload duration 'x'"),
        ("loadbalance weighted w {\nreload -1s\n}", AT.format(3) + "invalid reload duration '-1s'"),
        ("loadbalance weighted w {\nreload\n}", AT.format(3) + "missing reload duration"),
        ("loadbalance weighted w {\nreload 1s 2s\n}", AT.format(3) + "unexpected argument(s)"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        parse(make_directive(text))
    assert str(raised.value).startswith(error)


def test_weights_hold_for_the_name_above_them_whatever_its_case() -> None:
    table = parse_weights(WEIGHTS, "w")
    assert table == {
        b"\x03www\x07example\x03org\x00": {b"\xc0\x00\x02\x01": 3, bytes.fromhex("20010db8" + "0" * 23 + "1"): 255},
        b"\x03api\x07example\x03org\x00": {b"\xc0\x00\x02\x01": 7},
    }


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a\n1.2.3.4", 'wrong domain name:"1.2.3.4" in weight file w, line 2. (Maybe a missing weight value?)'),
        ("a..b", 'wrong domain name:"a..b" in weight file w, line 1. (Maybe a missing weight value?)'),
        ("a\nx 3", 'wrong IP address:"x" in weight file w, line 2'),
        ("a\n1.2.3.4 0", 'wrong weight value:"0" in weight file w, line 2'),
        ("a\n1.2.3.4 256", 'wrong weight value:"256" in weight file w, line 2'),
        ("a\n1.2.3.4 \u0663", 'wrong weight value:"\u0663" in weight file w, line 2'),
        ("1.2.3.4 3\na", "missing domain name in weight file w, line 1"),
        ("a\n1.2.3.4 3 4", 'could not parse weight line:"1.2.3.4 3 4" in weight file w, line 2'),
    ],
)
def test_faults_in_a_weight_file(text: str, error: str) -> None:
    with pytest.raises(WeightError) as raised:
        parse_weights(text, "w")
    assert str(raised.value).startswith(error)


def weight(file: WeightFile, name: str, address: str = "192.0.2.1") -> int:
    return file.of(records(f"{name} 60 IN A {address}")[0])


async def test_the_file_is_followed_and_a_fault_in_it_changes_nothing(tmp_path: Path) -> None:
    process = FakeProcess()
    path = tmp_path / "w"
    file = WeightFile(str(path), 30, Log(process.stream))
    file.load()
    assert process.lines == ["[WARNING] Failed to open weight file:weight file open error. Will try again in 30s"]
    assert weight(file, "www.example.org.") == 1
    path.write_text(WEIGHTS)
    await file.look()
    assert process.lines[1:] == [f"[INFO] Successfully reloaded weight file {path}"]
    assert weight(file, "WWW.example.org.") == 3
    assert weight(file, "www.example.org.", "192.0.2.9") == 1
    assert weight(file, "other.example.org.") == 1
    for bad in ("x y z", None):
        path.write_text(bad) if bad else path.unlink()
        await file.look()
        assert weight(file, "www.example.org.") == 3
    path.write_text(WEIGHTS)
    await file.look()
    assert sum("Successfully" in line for line in process.lines) == 1  # the same as before
    path.write_text("www.example.org\n192.0.2.1 9\n")
    await file.look()
    assert weight(file, "www.example.org.") == 9


async def test_setup_reads_below_root_and_follows_until_stop(tmp_path: Path) -> None:
    (tmp_path / "w").write_text(WEIGHTS)
    site = make_site(process=FakeProcess())
    site.root = str(tmp_path)
    setup(make_directive("loadbalance weighted w"), site)
    assert [handler.name for handler in site.all_handlers()] == ["loadbalance"]
    before = len(asyncio.all_tasks())
    await run(site.hooks.start)
    assert len(asyncio.all_tasks()) == before + 1
    await run(site.hooks.stop)
    assert len(asyncio.all_tasks()) == before


@pytest.mark.parametrize("content", [None, "x y z"])
def test_setup_refuses_a_file_that_cannot_be_used(tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "w").write_text(content)
    site = make_site(process=FakeProcess())
    expected = "weight file open error" if content is None else "could not parse weight line"
    with pytest.raises(CorefileError, match=expected):
        setup(make_directive(f"loadbalance weighted {tmp_path}/w {{\nreload 0s\n}}"), site)
