"""Queries that go ahead of the chain: what forward makes of upstreams that fail, of limits and of its options."""

from __future__ import annotations

import asyncio
import socket

import dns.rcode
import pytest

from support.goingahead import World, world_of
from support.upstream import Asked, ScriptedUpstream, Send, Step, Wait, good, rcode, reply, silent, until
from waypost.dispatch.memo import Memo
from waypost.plugins.loop import Loop


async def asked(world: World, count: int, start: int = 0) -> list[str]:
    """The rcodes of so many siblings."""
    messages = [await world.ask(f"a{n}.example.org.") for n in range(start, start + count)]
    return [dns.rcode.to_text(message.rcode()) for message in messages]


@pytest.fixture
def dead() -> str:
    """An address where nobody listens."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{sock.getsockname()[1]}"


@pytest.mark.parametrize("policy", ["sequential", "random", "round_robin"])
async def test_the_next_upstream_is_asked(dead: str, policy: str) -> None:
    async with ScriptedUpstream(good()) as upstream:
        forward = f"forward . {dead} {upstream.address} {{\npolicy {policy}\nhealth_check 10s\n}}"
        async with world_of(forward, Memo()) as world:
            assert await asked(world, 20, start=10) == ["NOERROR"] * 20
            assert world.ahead == 18
            assert [line for line in world.process.lines if "ERROR" in line] == []
        assert len(upstream.seen) == 20


async def test_nobody_answers() -> None:
    async with ScriptedUpstream(silent) as upstream:
        forward = f"forward . {upstream.address} {{\nread_timeout 20ms\nmax_connect_attempts 2\nmax_fails 0\n}}"
        async with world_of(forward, Memo()) as world:
            assert await asked(world, 3) == ["SERVFAIL"] * 3
            assert world.ahead == 1
            assert len([line for line in world.process.lines if "i/o timeout" in line]) == 3
        assert len(upstream.seen) == 6


async def test_an_upstream_that_is_down_is_left_out(dead: str) -> None:
    async with ScriptedUpstream(good()) as upstream:
        forward = f"forward . {dead} {upstream.address} {{\npolicy sequential\nmax_fails 1\nhealth_check 1ms\n}}"
        async with world_of(forward, Memo()) as world:
            await asked(world, 3)
            (group,) = (lent for lent in world.process.lender.lent.values() if hasattr(lent, "members"))
            await until(lambda: group.members[0].health.down)
            misses = "coredns_proxy_conn_cache_misses_total('forward', '{}', 'udp')"
            before = world.counted(misses.format(dead))
            assert await asked(world, 5, start=3) == ["NOERROR"] * 5
            assert world.counted(misses.format(dead)) == before


async def test_the_limit_of_concurrent_queries() -> None:
    event = asyncio.Event()

    def slow_last(asked: Asked) -> list[Step]:
        answer = Send(reply(asked, "@ 60 IN A 192.0.2.1").to_wire())
        return [Wait(event), answer] if asked.name.startswith("a9") else [answer]

    async with (
        ScriptedUpstream(slow_last) as upstream,
        world_of(f"forward . {upstream.address} {{\nmax_concurrent 1\n}}", Memo()) as world,
    ):
        await asked(world, 3)
        waiting = asyncio.ensure_future(world.ask("a9.example.org."))
        await until(lambda: len(upstream.seen) == 4)
        assert await asked(world, 2) == ["REFUSED"] * 2
        assert world.counted("coredns_forward_max_concurrent_rejects_total()") == 2
        event.set()
        assert (await waiting).rcode() == 0
        assert await asked(world, 2) == ["NOERROR"] * 2
        assert world.ahead == 4


@pytest.mark.parametrize(
    "options", ["force_tcp", "prefer_udp", "next SERVFAIL", "next_on_nodata", "failover SERVFAIL", "max_concurrent 9"]
)
async def test_options_that_want_the_chain(options: str) -> None:
    async with (
        ScriptedUpstream(good()) as upstream,
        world_of(f"forward . {upstream.address} {{\n{options}\n}}", Memo()) as world,
    ):
        assert await asked(world, 5) == ["NOERROR"] * 5
        assert world.ahead == (3 if options.startswith("max") else 0)


async def test_excluded_names_have_no_siblings() -> None:
    async with (
        ScriptedUpstream(good()) as upstream,
        world_of(f"forward . {upstream.address} {{\nexcept a3.example.org\n}}", Memo()) as world,
    ):
        assert await asked(world, 5) == ["NOERROR"] * 3 + ["SERVFAIL", "NOERROR"]
        assert world.ahead == 0


async def test_rcodes_reach_the_metrics_of_the_upstream() -> None:
    async with (
        ScriptedUpstream(rcode("REFUSED")) as upstream,
        world_of(f"forward . {upstream.address}", Memo()) as world,
    ):
        assert await asked(world, 5) == ["REFUSED"] * 5
        name = f"coredns_proxy_request_duration_seconds('forward', '{upstream.address}', 'REFUSED')"
        assert world.counted(name) == 5


async def test_a_loop_ends_it() -> None:
    async with (
        ScriptedUpstream(good()) as upstream,
        world_of(f"forward . {upstream.address}", Memo(), "loop {\ndegrade\n}") as world,
    ):
        assert await asked(world, 4) == ["NOERROR"] * 4
        (loop,) = world.server.zones.all_sites()[0].handlers["loop"]
        assert isinstance(loop, Loop)
        loop._finding.turn(looping=True)
        assert await asked(world, 4) == ["SERVFAIL"] * 4
        loop._finding.turn(looping=False)
        assert await asked(world, 4) == ["NOERROR"] * 4
        assert len(upstream.seen) == 8
