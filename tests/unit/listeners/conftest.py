"""Connections are tested on a loop with a clock of its own, everything else here on a real one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from support.clock import ClockLoop

CLOCKED = ("test_http_connection", "test_listener_tcp")


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"clock": ClockLoop} if item.path.stem in CLOCKED else {"real": asyncio.SelectorEventLoop}
