"""Queries that wait, on a clock that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from support.chain import make_wire
from waypost.toolkit.inflight import Answer, InFlight, MessageIds
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

    def create_future(self) -> Answer:
        return asyncio.get_running_loop().create_future()

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


async def test_each_query_ends_at_its_own_deadline() -> None:
    loop = FakeLoop()
    late: list[list[Answer]] = []
    flight = InFlight(cast(Any, loop), MessageIds(), 2.0, late.append)
    answers = []
    for now in (0.0, 0.5, 0.5, 1.5):
        loop.now = now
        answers.append(flight.add(QUERY)[1])
    assert len(loop.timers) == 1
    loop.advance(2.0)
    assert late == [answers[:1]]
    loop.advance(2.5)
    assert late[1:] == [answers[1:3]]
    assert len(flight.waiting) == 1
    loop.advance(3.5)
    assert late[2:] == [answers[3:]]
    assert (loop.timers, flight.waiting) == ([], {})


async def test_answered_queries_are_never_late() -> None:
    loop = FakeLoop()
    late: list[list[Answer]] = []
    flight = InFlight(cast(Any, loop), MessageIds(), 2.0, late.append)
    message_id, answer = flight.add(QUERY)
    flight.settle(message_id, UpstreamError("x"))
    with pytest.raises(UpstreamError):
        await answer
    loop.advance(10.0)
    assert late == [[]]
    flight.add(QUERY)
    flight.close()
    loop.advance(20.0)
    assert late == [[]]


async def test_answers_nobody_waits_for_any_more() -> None:
    flight = InFlight(asyncio.get_running_loop(), MessageIds(), 2.0, lambda late: None)
    message_id, answer = flight.add(QUERY)
    answer.cancel()
    flight.settle(message_id, UpstreamError("x"))
    flight.add(QUERY)[1].cancel()
    flight.fail_all(UpstreamError("x"))
    flight.close()


def test_ids_avoid_those_in_use() -> None:
    ids = MessageIds()
    taken = set(range(65536)) - {7}
    assert ids.draw(taken) == 7
    drawn = {ids.draw() for _ in range(2000)}
    assert len(drawn) > 1900
