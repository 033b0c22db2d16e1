"""secondary: options, the timers of a zone under a clock that tests turn, and who may send NOTIFY."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import dns.message
import dns.opcode
import pytest

from support.asking import block
from support.chain import FakeProcess, make_directive
from support.zones import load
from waypost.corefile.errors import CorefileError
from waypost.plugins.secondary import parse, setup
from waypost.plugins.secondary.handler import Secondary
from waypost.plugins.secondary.zone import Clock, SecondaryZone
from waypost.toolkit.xfr_records import TransferError
from waypost.toolkit.zonedata import Zone
from waypost.wire import consts, names
from waypost.wire.reply import Reply

ORIGIN = names.from_text("example.org.")
HEAD = "@ 60 IN SOA ns admin {} 100 20 500 300\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("secondary", "Corefile:2 - Error during parsing: secondary zones require a transfer from property"),
        ("secondary {\ntransfer from\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        ("secondary {\ntransfer to 192.0.2.1\n}", "Corefile:3 - Error during parsing: unknown property 'transfer to'"),
        ("secondary {\ntransfer from dns.example.org\n}", "must specify an IP address: `dns.example.org'"),
        ("secondary {\ntransfer from tls://192.0.2.1\n}", "must specify an IP address: `tls://192.0.2.1'"),
        ("secondary {\ncatalog\n}", "Corefile:3 - Error during parsing: catalog is not supported yet"),
        ("secondary {\nfoo\n}", "Corefile:3 - Error during parsing: unknown property 'foo'"),
    ],
)
def test_faults(text: str, fault: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value).startswith(fault)


def test_options() -> None:
    text = "secondary a.org {\ntransfer from 192.0.2.1 [::1]:54\ntransfer from 192.0.2.2\nfallthrough\n}"
    (config,) = parse(make_directive(text))
    assert config.zones == ("a.org",)
    assert [str(address) for address in config.primaries] == ["192.0.2.1:53", "[::1]:54", "192.0.2.2:53"]
    assert config.fall.covers(ORIGIN)


@dataclass
class FakePrimary:
    """Has one zone, or none and fails."""

    has: Zone | None = None
    asked: list[str] = field(default_factory=list)

    async def serial(self, origin: bytes) -> int:
        self.asked.append("serial")
        if self.has is None:
            raise TransferError("gone")
        return self.has.serial

    async def zone(self, origin: bytes, known: Zone | None = None) -> Zone | None:
        self.asked.append("zone")
        if self.has is None:
            raise TransferError("gone")
        return self.has

    def __str__(self) -> str:
        return "192.0.2.1:53"


class TurnedClock:
    """Time stands still but for `pass_on`, which lets the next wait of the zone end and gives its length."""

    def __init__(self) -> None:
        self.time = 1000.0
        self._asked: asyncio.Queue[float] = asyncio.Queue()
        self._passed = asyncio.Event()
        self.clock = Clock(lambda: self.time, self._wait, lambda limit: limit)

    async def _wait(self, event: asyncio.Event, seconds: float) -> None:
        self._asked.put_nowait(seconds)
        ends = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._passed.wait())]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
        self._passed.clear()

    async def next_wait(self) -> float:
        return await self._asked.get()

    def pass_on(self, seconds: float) -> None:
        self.time += seconds
        self._passed.set()


@dataclass
class Stage:
    """A zone with its fakes."""

    primary: FakePrimary
    clock: TurnedClock
    zone: SecondaryZone
    process: FakeProcess


def stage(has: Zone | None = None) -> Stage:
    primary, clock, process = FakePrimary(has), TurnedClock(), FakeProcess()
    zone = SecondaryZone(ORIGIN, [FakePrimary(), primary], process.services().log, clock.clock)
    return Stage(primary, clock, zone, process)


def version(tmp_path: Path, serial: int) -> Zone:
    return load(tmp_path, "", head=HEAD.format(serial))


async def test_first_transfer_is_tried_until_it_works(tmp_path: Path) -> None:
    on = stage()
    on.zone.start()
    waits = []
    for _ in range(7):
        waits.append(await on.clock.next_wait())
        on.clock.pass_on(waits[-1])
    assert waits == [0.25, 0.5, 1, 2, 4, 8, 10]
    assert on.zone.current() is None
    on.primary.has = version(tmp_path, 1)
    on.clock.pass_on(await on.clock.next_wait())
    assert await on.clock.next_wait() == 105
    assert on.zone.current() is on.primary.has
    await on.zone.close()
    assert [line for line in on.process.lines if "192.0.2.1:53: gone" in line]
    assert on.process.lines[-1] == "[INFO] Transferred example.org. from 192.0.2.1:53 with 1 SOA serial"


async def test_refresh_retry_and_expire(tmp_path: Path) -> None:
    old = version(tmp_path, 0xFFFFFFFF)
    on = stage(old)
    changes: list[bytes] = []
    on.zone.on_change = lambda: changes.append(on.zone.origin)
    on.zone.start()
    assert await on.clock.next_wait() == 105
    on.primary.has = version(tmp_path, 0xFFFFFFFE)
    on.clock.pass_on(105)
    assert await on.clock.next_wait() == 105
    assert on.zone.current() is old
    on.primary.has = None
    on.clock.pass_on(105)
    assert await on.clock.next_wait() == 22
    on.clock.time += 394
    assert on.zone.current() is old
    on.clock.time += 2
    assert on.zone.current() is None
    on.primary.has = version(tmp_path, 1)
    on.clock.pass_on(22)
    assert await on.clock.next_wait() == 105
    assert on.zone.current() is on.primary.has
    assert changes == [ORIGIN, ORIGIN]
    await on.zone.close()


async def test_notify_asks_at_once_but_not_all_the_time(tmp_path: Path) -> None:
    on = stage(version(tmp_path, 1))
    on.zone.start()
    assert await on.clock.next_wait() == 105
    on.zone.check_soon()
    assert await on.clock.next_wait() == 1
    assert on.primary.asked == ["zone"]
    on.primary.has = version(tmp_path, 2)
    on.clock.pass_on(1)
    assert await on.clock.next_wait() == 105
    assert on.primary.asked == ["zone", "serial", "zone"]
    assert on.zone.current() is on.primary.has
    await on.zone.close()


def notify(name: str = "example.org.", qtype: str = "SOA") -> bytes:
    message = dns.message.make_query(name, qtype)
    message.set_opcode(dns.opcode.NOTIFY)
    return message.to_wire()


@pytest.mark.parametrize(
    ("client", "wire", "accepted"),
    [
        ("192.0.2.1", notify(), True),
        ("192.0.2.1", notify("EXAMPLE.org."), True),
        ("192.0.2.2", notify(), False),
        ("192.0.2.1", notify("www.example.org."), False),
        ("192.0.2.1", notify(qtype="A"), False),
    ],
    ids=["primary", "other case", "stranger", "other zone", "other type"],
)
async def test_notify_comes_only_from_primaries(client: str, wire: bytes, accepted: bool) -> None:
    asked = block(setup, "secondary {\ntransfer from 192.0.2.1\n}", "example.org")
    reply = await asked.reply("", wire=wire, client=(client, 5353))
    assert reply.written is accepted
    assert reply.rcode == (consts.NOERROR if accepted else consts.REFUSED)
    assert ("Dropping notify" in "".join(asked.process.lines)) is not accepted


async def test_names_before_the_first_transfer_and_outside(tmp_path: Path) -> None:
    fell = Reply(consts.NOERROR, 0)
    asked = block(setup, "secondary example.org {\ntransfer from 192.0.2.1\nfallthrough\n}", reply=fell)
    reply = await asked.reply("www.example.org.")
    assert (reply.rcode, reply.written) == (consts.SERVFAIL, False)
    assert await asked.reply("www.example.net.") is fell
    (handler,) = asked.site.handlers["secondary"]
    assert isinstance(handler, Secondary)
    assert handler.transfer(ORIGIN, None) is None
    assert handler.zones() == (ORIGIN,)


async def test_reload_keeps_the_zone() -> None:
    process = FakeProcess()
    text = "secondary {\ntransfer from 192.0.2.1\n}"
    handlers = [block(setup, text, "example.org", process=process).site.handlers["secondary"][0] for _ in range(2)]
    assert len(process.lender.lent) == 1
    assert handlers[0] is not handlers[1]
