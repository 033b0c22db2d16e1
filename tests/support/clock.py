"""An event loop whose clock moves only when it is told to."""

from __future__ import annotations

import asyncio

_TURNS = 8


class ClockLoop(asyncio.SelectorEventLoop):
    """Seconds pass by `await advance(seconds)`; timers that are due by then have run afterwards."""

    def __init__(self) -> None:
        self.now = 1000.0
        super().__init__()

    def time(self) -> float:
        return self.now

    async def advance(self, seconds: float) -> None:
        self.now += seconds
        await self.settle()

    async def settle(self) -> None:
        """Let everything run that can."""
        for _ in range(_TURNS):
            await asyncio.sleep(0)
