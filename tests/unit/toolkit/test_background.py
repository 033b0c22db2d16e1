"""Work beside the loop's other work."""

from __future__ import annotations

import asyncio

import pytest

from waypost.toolkit.background import Background


class Work:
    def __init__(self) -> None:
        self.began = 0
        self.ended = 0

    async def __call__(self) -> None:
        self.began += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1


async def test_it_is_begun_once_and_ends_when_told() -> None:
    background, work = Background(), Work()
    await background.stop()
    for _ in range(2):
        background.start(work)
    await asyncio.sleep(0)
    assert (work.began, work.ended) == (1, 0)
    await background.stop()
    assert (work.began, work.ended) == (1, 1)
    background.start(work)
    await asyncio.sleep(0)
    await background.stop()
    assert (work.began, work.ended) == (2, 2)


async def test_what_it_failed_with_is_told_to_who_stops_it() -> None:
    async def failing() -> None:
        raise RuntimeError("a fault")

    background = Background()
    background.start(failing)
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="a fault"):
        await background.stop()
    await background.stop()
