"""Whether a server whose watchdog was killed is the last instance on its node."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from waypost.nodecache.claims import PRESENT, RULES, Claims
from waypost.nodecache.node import left_alone


@pytest.fixture
def name() -> str:
    return secrets.token_hex(4)


async def test_nobody_else(name: str) -> None:
    assert await left_alone(Claims(name), 0.001)


@pytest.mark.parametrize("kind", [PRESENT, RULES])
async def test_claims_of_a_watchdog_that_is_dying_are_waited_out(name: str, kind: str) -> None:
    """Rules stayed for ever where the end of the pipe was seen before that of the claims."""
    dying = Claims(name)
    dying.take(kind)
    alone = asyncio.ensure_future(left_alone(Claims(name), 0.01))
    await asyncio.sleep(0.02)
    assert not alone.done()
    dying.drop(kind)
    assert await alone


async def test_another_instance(name: str) -> None:
    other = Claims(name)
    other.take(PRESENT)
    assert not await left_alone(Claims(name), 0.001)
    other.drop(PRESENT)
