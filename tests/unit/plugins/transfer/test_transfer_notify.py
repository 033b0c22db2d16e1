"""NOTIFY: whom it tells, how often, and what it says when nobody listens."""

from __future__ import annotations

import asyncio
import io
import socket
from collections.abc import Iterator

import dns.flags
import dns.message
import dns.opcode
import pytest

from support.chain import FakeProcess, make_directive, make_site, run
from waypost.log import Log
from waypost.plugins.transfer import setup
from waypost.plugins.transfer.handler import Transfer
from waypost.plugins.transfer.notify import Notifier, ask
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.wire import consts, names
from waypost.wire.message import make_query
from waypost.wire.query import Query, parse_query

ZONE = names.from_text("example.org.")
ONE, TWO = UpstreamAddress("192.0.2.1", 53), UpstreamAddress("192.0.2.2", 5353)


class Secondaries:
    """Answers one by one with the given outcomes, then NOERROR."""

    def __init__(self, *outcomes: int | UpstreamError) -> None:
        self.outcomes: Iterator[int | UpstreamError] = iter(outcomes)
        self.asked: list[tuple[Query, UpstreamAddress, str]] = []

    async def ask(self, query: Query, server: UpstreamAddress, source: str) -> int:
        self.asked.append((query, server, source))
        outcome = next(self.outcomes, consts.NOERROR)
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome


async def notified(secondaries: Secondaries, *servers: UpstreamAddress, debug: bool = False) -> list[str]:
    """What is logged."""
    stream = io.StringIO()
    log = Log(stream)
    log.set_debug(debug)
    notifier = Notifier(log, secondaries.ask)
    notifier.start(ZONE, servers, "192.0.2.9")
    await asyncio.gather(*notifier._tasks.values())
    return stream.getvalue().splitlines()


async def test_every_server_is_told_once() -> None:
    secondaries = Secondaries()
    assert await notified(secondaries, ONE, TWO, debug=True) == [
        '[DEBUG] Sent notifies for zone "example.org." to 192.0.2.1:53 192.0.2.2:5353'
    ]
    assert [(server, source) for _, server, source in secondaries.asked] == [(ONE, "192.0.2.9"), (TWO, "192.0.2.9")]
    message = dns.message.from_wire(secondaries.asked[0][0].wire)
    assert message.opcode() == dns.opcode.NOTIFY
    assert message.flags & dns.flags.AA
    assert message.question[0].to_text() == "example.org. IN SOA"


@pytest.mark.parametrize(
    ("outcomes", "tries", "lines"),
    [
        ((consts.REFUSED,), 2, []),
        ((UpstreamError("lost"), consts.SERVFAIL), 3, []),
        (
            (consts.REFUSED,) * 3,
            3,
            [
                '[WARNING] notify for zone "example.org." was not accepted by "192.0.2.1:53": "rcode was REFUSED"',
            ],
        ),
        (
            (UpstreamError("lost"),) * 3,
            3,
            ['[WARNING] notify for zone "example.org." was not accepted by "192.0.2.1:53": "lost"'],
        ),
    ],
)
async def test_three_tries(outcomes: tuple[int | UpstreamError, ...], tries: int, lines: list[str]) -> None:
    secondaries = Secondaries(*outcomes)
    assert await notified(secondaries, ONE) == lines
    assert len(secondaries.asked) == tries


async def test_a_further_change_starts_anew_and_closing_ends_everything() -> None:
    started = 0

    async def never(query: Query, server: UpstreamAddress, source: str) -> int:
        nonlocal started
        started += 1
        await asyncio.Event().wait()
        return 0

    notifier = Notifier(Log(io.StringIO()), never)
    for _ in range(3):
        notifier.start(ZONE, [ONE], "")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    assert started == 3
    await notifier.close()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert all(task.cancelled() for task in tasks)


async def test_over_udp() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as secondary:
        secondary.bind(("127.0.0.1", 0))
        secondary.setblocking(False)
        query = parse_query(make_query(0, consts.OPCODE_NOTIFY << 11 | consts.AA, ZONE, consts.TYPE_SOA))
        server = UpstreamAddress("127.0.0.1", secondary.getsockname()[1])
        task = asyncio.create_task(ask(query, server, "127.0.0.7"))
        loop = asyncio.get_running_loop()
        data, client = await loop.sock_recvfrom(secondary, 512)
        assert client[0] == "127.0.0.7"
        response = dns.message.make_response(dns.message.from_wire(data))
        response.set_rcode(dns.rcode.NOTAUTH)
        await loop.sock_sendto(secondary, response.to_wire(), client)
        assert await task == consts.NOTAUTH


async def test_the_rule_of_a_zone_says_who_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    process = FakeProcess()
    site = make_site("example.org", process=process)
    text = "transfer a.example.org {\n to *\n}\ntransfer {\n to * 192.0.2.1 192.0.2.2:5353\n source 192.0.2.9\n}"
    setup(make_directive(text), site)
    handler = site.handlers["transfer"][0]
    assert isinstance(handler, Transfer)
    told: list[object] = []
    monkeypatch.setattr(Notifier, "start", lambda self, *what: told.append(what))
    for name in ("a.example.org.", "example.org.", "elsewhere.net."):
        handler.notify(names.from_text(name))
    assert told == [(ZONE, (ONE, TWO), "192.0.2.9")]
    await run(site.hooks.stop)
