import asyncio

import pytest

from support.asking import block, summary, texts
from support.chain import make_directive, make_request
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import AutoPath, Ready
from waypost.plugins.erratic import Config, Erratic, parse, setup
from waypost.wire import consts
from waypost.wire.reply import DROP

SOUND = "erratic {\n drop 0\n}"


async def test_fixed_records() -> None:
    served = block(setup, SOUND)
    assert summary(await served.ask("A.org.")) == ("NOERROR", "QR AA RD", ["A.org. 0 A 192.0.2.53"], [], [])
    assert texts((await served.ask("a.org.", "AAAA")).answer) == ["a.org. 0 AAAA 2001:db8::53"]
    assert summary(await served.ask("a.org.", "TXT")) == ("SERVFAIL", "QR RD", [], [], [])
    assert len((await block(setup, "erratic {\n drop 0\n large\n}").reply("a.org.")).answer) == 30


async def test_a_transfer() -> None:
    records = (await block(setup, SOUND).reply("a.org.", "AXFR", datagram=False)).answer
    assert [record.rtype for record in records] == [6, 2, 2, 28, 28, 6]
    records = (await block(setup, "erratic {\n truncate 1\n}").reply("a.org.", "AXFR", datagram=False)).answer
    assert [record.rtype for record in records] == [6, 2, 2, 28, 28]


async def test_a_transfer_of_the_longest_name_has_no_names_that_are_too_long() -> None:
    name = ".".join(["a" * 63] * 3 + ["b" * 61]) + "."
    records = (await block(setup, SOUND).reply(name, "AXFR", datagram=False)).answer
    assert [record.rtype for record in records] == [6, 6]


@pytest.mark.parametrize(
    ("text", "dropped"),
    [("erratic", [0, 2, 4]), ("erratic {\n drop 3\n}", [0, 3]), ("erratic {\n drop\n}", [0, 2, 4]),
     ("erratic {\n drop 1\n}", [0, 1, 2, 3, 4]), ("erratic {\n truncate 2\n drop\n}", [])],
)  # fmt: skip
async def test_one_in_so_many_is_dropped(text: str, dropped: list[int]) -> None:
    served = block(setup, text)
    replies = [await served.reply("a.org.") for _ in range(5)]
    assert [n for n, reply in enumerate(replies) if reply is DROP] == dropped


async def test_truncation_goes_by_the_bits_of_the_count() -> None:
    served = block(setup, "erratic {\n truncate 2\n}")
    flags = [(await served.reply("a.org.")).flags & consts.TC for _ in range(6)]
    assert [bool(flag) for flag in flags] == [True, True, False, False, True, True]


async def test_one_in_so_many_is_delayed(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    served = block(setup, "erratic {\n delay 3 20ms\n}")
    for _ in range(4):
        await served.reply("a.org.")
    assert slept == [0.02, 0.02]


def test_ready_for_two_queries_only() -> None:
    erratic = Erratic(Config(drop=0))
    assert isinstance(erratic, Ready)
    states = []
    for _ in range(6):
        states.append(erratic.ready())
        erratic.serve(make_request())
    assert states == [False, False, False, True, True, False]


def test_a_search_path() -> None:
    erratic = Erratic(Config())
    assert isinstance(erratic, AutoPath)
    assert erratic.autopath(make_request())[-1] == b"\0"


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("erratic", Config(drop=2)),
        ("erratic {\n truncate\n}", Config(drop=0, truncate=2)),
        ("erratic {\n delay\n}", Config(drop=0, delay=2, duration=0.1)),
        ("erratic {\n delay 3 1s\n drop 4\n}", Config(drop=4, delay=3, duration=1.0)),
    ],
)
def test_configurations(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("drop x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("drop -1", 'illegal amount value given "-1"'),
        ("truncate 99999999999", 'strconv.ParseInt: parsing "99999999999": value out of range'),
        ("delay 3 x", 'time: invalid duration "x"'),
        ("foo", "Corefile:3 - Error during parsing: unknown property 'foo'"),
        ("drop 1 2", "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after '2'"),
    ],
)
def test_options_that_are_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"erratic {{\n {text}\n}}"))
    assert str(caught.value) == error
