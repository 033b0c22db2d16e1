"""Queries that wait, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from support.chain import make_wire
from waypost.toolkit.inflight import Answer, Asker, InFlight, MessageIds, fill
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.wire.query import parse_query

QUERY = parse_query(make_wire("example.org."))


class FakeLoop:
    """An event loop's clock and timers."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.Future[None]:
        timer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.timers.append((when, lambda: None if timer.cancelled() else callback()))
        return timer

    def advance(self, to: float) -> None:
        self.now = to
        due = [timer for timer in self.timers if timer[0] <= to]
        self.timers = [timer for timer in self.timers if timer[0] > to]
        for _, callback in due:
            callback()


class Asked:
    """Waits for the reply to one query."""

    def __init__(self, flight: InFlight[Asked]) -> None:
        self.got: list[UpstreamError] = []
        self.message_id = flight.add(self)

    def fail(self, error: UpstreamError) -> None:
        self.got.append(error)


async def test_each_query_ends_at_its_own_deadline() -> None:
    loop = FakeLoop()
    late: list[list[Asked]] = []
    flight: InFlight[Asked] = InFlight(cast(Any, loop), MessageIds(), 2.0, late.append)
    asked = []
    for now in (0.0, 0.5, 0.5, 1.5):
        loop.now = now
        asked.append(Asked(flight))
    assert len(loop.timers) == 1
    loop.advance(2.0)
    assert late == [asked[:1]]
    loop.advance(2.5)
    assert late[1:] == [asked[1:3]]
    assert len(flight.waiting) == 1
    loop.advance(3.5)
    assert late[2:] == [asked[3:]]
    assert (loop.timers, flight.waiting) == ([], {})


async def test_answered_queries_are_never_late() -> None:
    loop = FakeLoop()
    late: list[list[Asked]] = []
    flight: InFlight[Asked] = InFlight(cast(Any, loop), MessageIds(), 2.0, late.append)
    flight.forget(Asked(flight).message_id)
    loop.advance(10.0)
    assert late == [[]]
    Asked(flight)
    flight.close()
    loop.advance(20.0)
    assert late == [[]]


async def test_all_are_told_that_nothing_will_come() -> None:
    flight: InFlight[Asked] = InFlight(asyncio.get_running_loop(), MessageIds(), 2.0, lambda late: None)
    asked = [Asked(flight), Asked(flight)]
    error = UpstreamError("x")
    flight.fail_all(error)
    flight.close()
    assert [one.got for one in asked] == [[error], [error]]
    assert flight.waiting == {}


async def test_answers_nobody_waits_for_any_more() -> None:
    answer: Answer = asyncio.get_running_loop().create_future()
    asker = Asker(QUERY, fill(answer))
    answer.cancel()
    asker.fail(UpstreamError("x"))
    asker.receiver(UpstreamError("x"))


async def test_a_query_that_was_not_sent_is_forgotten() -> None:
    flight: InFlight[Asked] = InFlight(asyncio.get_running_loop(), MessageIds(), 2.0, lambda late: None)
    asked = Asked(flight)
    flight.forget(asked.message_id)
    flight.fail_all(UpstreamError("x"))
    flight.close()
    assert (asked.got, flight.waiting) == ([], {})


def test_ids_avoid_those_in_use() -> None:
    ids = MessageIds()
    taken = set(range(65536)) - {7}
    assert ids.draw(taken) == 7
    drawn = {ids.draw() for _ in range(2000)}
    assert len(drawn) > 1900
