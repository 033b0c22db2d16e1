"""Replies on their way: steps, errors, and who waits."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from waypost.dispatch.handler import settled, then
from waypost.dispatch.pending import Pending
from waypost.dispatch.waiting import Waiting
from waypost.wire.reply import Reply, failure

REPLY = Reply(0, 0)
FAULT = RuntimeError("a fault of a plugin")


class End:
    """What came out."""

    def __init__(self, pending: Pending[Any]) -> None:
        self.got: list[Any] = []
        pending.finish(self.got.append, self.got.append)


def raising(value: object) -> Any:
    raise FAULT


async def later(value: Any, event: asyncio.Event) -> Any:
    await event.wait()
    return value


def plus(number: int) -> Callable[[Reply], Reply]:
    return lambda reply: reply.replace(rcode=reply.rcode + number)


def test_steps_run_in_order_when_it_is_settled() -> None:
    pending: Pending[Any] = Pending()
    end = End(pending.then(lambda value: [*value, 1]).then(lambda value: [*value, 2]))
    assert end.got == []
    pending.settle([0])
    assert end.got == [[0, 1, 2]]


def test_settled_before_anybody_asks() -> None:
    pending: Pending[Reply] = Pending()
    pending.then(plus(2))
    pending.settle(REPLY)
    assert End(pending).got[0].rcode == 2


def test_steps_added_after_it_was_settled() -> None:
    pending: Pending[Reply] = Pending()
    pending.settle(REPLY)
    assert End(pending.then(plus(2)).then(plus(1))).got[0].rcode == 3
    pending = Pending()
    pending.settle(REPLY)
    assert End(pending.then(raising).then(plus(1))).got == [FAULT]
    pending = Pending()
    pending.fail(FAULT)
    assert End(pending.then(plus(1)).rescue(lambda error: REPLY)).got == [REPLY]


def test_a_fault_goes_to_who_waits_or_to_the_rescue() -> None:
    pending: Pending[Any] = Pending()
    end = End(pending.then(raising).then(lambda value: "not reached"))
    pending.settle(REPLY)
    assert end.got == [FAULT]
    pending = Pending()
    end = End(pending.then(raising).rescue(lambda error: f"instead of: {error}"))
    pending.settle(REPLY)
    assert end.got == ["instead of: a fault of a plugin"]


def test_a_source_that_fails() -> None:
    pending: Pending[Any] = Pending()
    end = End(pending.then(lambda value: "not reached"))
    pending.fail(FAULT)
    assert end.got == [FAULT]


async def test_steps_that_wait() -> None:
    event = asyncio.Event()
    for in_task in (True, False):
        inner: Pending[Reply] = Pending()
        pending: Pending[Any] = Pending()
        waits = later(Reply(1, 0), event) if in_task else inner
        end = End(pending.then(plus(1)).then(partial(lambda waits, reply: waits, waits)).then(plus(1)))
        pending.settle(REPLY)
        assert end.got == []
        event.set()
        inner.settle(Reply(1, 0))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert [reply.rcode for reply in end.got] == [2]


async def test_steps_whose_waiting_fails() -> None:
    async def failing() -> Any:
        raise FAULT

    for rescued in (False, True):
        pending: Pending[Any] = Pending()
        pending.then(lambda reply: failing())
        if rescued:
            pending.rescue(lambda error: "rescued")
        end = End(pending)
        pending.settle(REPLY)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert end.got == ["rescued" if rescued else FAULT]


async def test_it_can_be_awaited() -> None:
    pending: Pending[Reply] = Pending()
    asyncio.get_running_loop().call_soon(pending.settle, REPLY)
    assert await pending.then(plus(3)).then(plus(1)) != REPLY
    pending = Pending()
    asyncio.get_running_loop().call_soon(pending.fail, FAULT)
    with pytest.raises(RuntimeError):
        await pending


@pytest.mark.parametrize("end", [lambda pending: pending.settle(REPLY), lambda pending: pending.fail(FAULT)])
async def test_who_awaits_may_give_up(end: Callable[[Pending[Reply]], None]) -> None:
    pending: Pending[Reply] = Pending()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pending, 0.001)
    end(pending)


async def test_it_is_an_outcome() -> None:
    pending: Pending[Reply] = Pending()
    outcome = then(pending, plus(1))
    assert outcome is pending
    pending.settle(failure(2))
    assert (await settled(outcome)).rcode == 3


async def test_waiting_until_all_have_ended() -> None:
    waiting = Waiting()
    await waiting.ended(60)
    event = asyncio.Event()
    waiting.begin()
    waiting.add(asyncio.get_running_loop().create_task(event.wait()))
    ending = asyncio.ensure_future(waiting.ended(60))
    await asyncio.sleep(0)
    assert (len(waiting), ending.done()) == (2, False)
    waiting.end()
    await asyncio.sleep(0)
    assert (len(waiting), ending.done()) == (1, False)
    event.set()
    await ending
    assert len(waiting) == 0


async def test_waiting_has_an_end() -> None:
    waiting = Waiting()
    waiting.begin()
    await waiting.ended(0.001)
    assert len(waiting) == 1


def test_nothing_is_left_for_the_collector() -> None:
    """A cycle a query would have it run all the time."""
    gc.collect()
    gc.disable()
    try:
        for end in (lambda pending: pending.settle(REPLY), lambda pending: pending.fail(FAULT)):
            for _ in range(100):
                pending: Pending[Reply] = Pending()
                pending.then(lambda reply, own=pending: reply).rescue(lambda error, own=pending: REPLY)  # type: ignore[misc]
                pending.finish(lambda reply, own=pending: None, lambda error, own=pending: None)  # type: ignore[misc]
                end(pending)
        del pending
        assert gc.collect() == 0
    finally:
        gc.enable()
