"""The upstreams of a directive over their life, against scripted ones."""

from __future__ import annotations

import asyncio
import random

import pytest

from support.chain import make_wire
from support.upstream import ScriptedUpstream, good, rcode, silent, slow, truncating, until
from waypost.metrics.registry import Counter, Registry
from waypost.toolkit.exchange import Client, ExchangeSettings, Transport
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_group import Upstream, UpstreamGroup
from waypost.toolkit.upstream_health import HealthSettings
from waypost.toolkit.upstream_metrics import ProxyMetrics
from waypost.toolkit.upstreams import Answered, Selection, SelectionLimits
from waypost.wire.query import parse_query

UDP = Transport(stream=False)
QUERY = parse_query(make_wire("example.org."))


def group_of(
    *ports: int, registry: Registry | None = None, health: HealthSettings | None = None, timeout: float = 0.2
) -> UpstreamGroup:
    metrics = ProxyMetrics(registry or Registry(), "forward")

    def make(address: UpstreamAddress) -> Upstream:
        cells = metrics.for_upstream(address)
        client = Client(address, None, ExchangeSettings(timeout), cells.datagrams, cells.streams)
        return Upstream(address, client, health or HealthSettings(), cells)

    return UpstreamGroup(make, [UpstreamAddress("127.0.0.1", port) for port in ports])


def cells(registry: Registry, name: str) -> dict[tuple[str, ...], float]:
    return {labels: getattr(cell, "value", 0.0) for labels, cell in registry.families[name].cells.items()}


async def test_metrics() -> None:
    registry = Registry()
    async with ScriptedUpstream() as upstream:
        group = group_of(upstream.port, registry=registry)
        await group.members[0].ask(QUERY, UDP)
        upstream.behaviour = rcode("NXDOMAIN")
        await group.members[0].ask(QUERY, UDP)
        await group.members[0].ask(QUERY, Transport(stream=True))
        await group.close()
    to = upstream.address
    duration = registry.families["coredns_proxy_request_duration_seconds"]
    assert duration.labels == ("proxy_name", "to", "rcode")
    assert set(duration.cells) == {("forward", to, "NOERROR"), ("forward", to, "NXDOMAIN")}
    assert cells(registry, "coredns_proxy_conn_cache_hits_total") == {
        ("forward", to, "udp"): 1,
        ("forward", to, "tcp"): 0,
    }
    assert cells(registry, "coredns_proxy_conn_cache_misses_total") == {
        ("forward", to, "udp"): 1,
        ("forward", to, "tcp"): 1,
    }
    assert cells(registry, "coredns_proxy_healthcheck_failures_total") == {("forward", to): 0}


@pytest.mark.parametrize("stream", [False, True])
async def test_probe_over_the_queries_protocol(stream: bool) -> None:
    async with ScriptedUpstream(silent) as upstream:
        group = group_of(upstream.port, health=HealthSettings(stream=stream))
        with pytest.raises(UpstreamError):
            await group.members[0].ask(QUERY, UDP)
        upstream.behaviour = rcode("REFUSED")
        await until(lambda: upstream.count() >= 2)
        probe = upstream.seen[1]
        assert (probe.message.question[0].to_text(), probe.proto) == (". IN NS", "tcp" if stream else "udp")
        await group.close()


async def test_failing_query_starts_probes_and_they_end() -> None:
    registry = Registry()
    server = ScriptedUpstream()
    async with server:
        port = server.port
    group = group_of(port, registry=registry, health=HealthSettings(max_fails=1, interval=0.1, steady=True))
    upstream = group.members[0]
    with pytest.raises(UpstreamError):
        await upstream.ask(QUERY, UDP)
    await until(lambda: upstream.health.down)
    assert cells(registry, "coredns_proxy_healthcheck_failures_total") == {("forward", f"127.0.0.1:{port}"): 2}
    async with server:
        await until(lambda: not upstream.health.down)
        assert (await upstream.ask(QUERY, UDP)).answer
    await group.close()


async def test_truncated_reply_is_fetched_over_tcp_if_asked_for() -> None:
    async with ScriptedUpstream(truncating) as upstream:
        group = group_of(upstream.port)
        assert not (await group.members[0].ask(QUERY, UDP)).answer
        assert len((await group.members[0].ask(QUERY, Transport(False, retry_truncated=True))).answer) == 2
        await group.close()
    assert [asked.proto for asked in upstream.seen] == ["udp", "udp", "tcp"]


async def test_close_lets_queries_end() -> None:
    event = asyncio.Event()
    async with ScriptedUpstream(slow(event)) as upstream:
        group = group_of(upstream.port)
        selection = Selection(group, "random", SelectionLimits(), Counter(), rng=random.Random(1))
        asking = asyncio.ensure_future(selection.ask(QUERY, UDP))
        await until(lambda: upstream.count() > 0)
        closing = asyncio.create_task(group.close())
        await asyncio.sleep(0)
        assert not closing.done()
        event.set()
        answered = await asking
        assert isinstance(answered, Answered)
        assert answered.message.answer
        await closing


async def test_replace_keeps_what_stays() -> None:
    event = asyncio.Event()
    async with ScriptedUpstream() as stays, ScriptedUpstream(slow(event)) as goes, ScriptedUpstream() as comes:
        group = group_of(stays.port, goes.port)
        kept = group.members[0]
        asking = asyncio.create_task(group.members[1].ask(QUERY, UDP))
        await until(lambda: goes.count() > 0)
        group.replace([UpstreamAddress("127.0.0.1", comes.port), kept.address])
        assert group.members[1] is kept
        assert (await group.members[0].ask(QUERY, UDP)).answer
        event.set()
        assert (await asking).answer  # a query under way is not lost
        await group.close()


async def test_begin_and_watch_run_once_and_end_with_the_group() -> None:
    began: list[str] = []

    async def first() -> None:
        began.append("first")

    async def watch() -> None:
        began.append("watch")
        try:
            await asyncio.Event().wait()
        finally:
            began.append("end")

    group = group_of(53)
    await asyncio.gather(group.begin(first, watch), group.begin(first, watch))
    await group.begin(first, watch)
    await asyncio.sleep(0)
    await group.close()
    await asyncio.sleep(0)
    assert began == ["first", "watch", "end"]


async def test_failed_beginning_fails_for_all_who_share_the_group() -> None:
    began: list[str] = []

    async def first() -> None:
        began.append("first")
        raise UpstreamError("no")

    async def watch() -> None:
        began.append("watch")

    group = group_of(53)
    outcomes = await asyncio.gather(group.begin(first, watch), group.begin(first, watch), return_exceptions=True)
    await group.close()
    assert [str(outcome) for outcome in outcomes] == ["no", "no"]
    assert began == ["first"]


async def test_close_ends_a_beginning() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    group = group_of(53)
    beginning = asyncio.create_task(group.begin(forever, forever))
    await asyncio.sleep(0)
    await group.close()
    with pytest.raises(asyncio.CancelledError):
        await beginning


async def test_everything_that_waits_is_answered_when_one_upstream_dies() -> None:
    async with ScriptedUpstream(good("192.0.2.1")) as first, ScriptedUpstream(good("192.0.2.2")) as second:
        group = group_of(first.port, second.port, timeout=5.0)
        selection = Selection(group, "round_robin", SelectionLimits(), Counter(), rng=random.Random(1))
        for round_ in range(4):
            if round_ == 2:
                await first.stop()
            answers = await asyncio.gather(*(selection.ask(QUERY, UDP) for _ in range(20)))
            assert all(answered.message.answer for answered in answers)
        await group.close()
