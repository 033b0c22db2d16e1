"""How long the API server was silent, and from when on that matters."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.apiserver import ApiServer
from support.chain import FakeProcess, make_directive, make_site, run
from support.kube import eventually
from waypost.metrics.registry import Registry
from waypost.plugins.kubernetes import setup
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.plugins.kubernetes.source import ClusterSource
from waypost.plugins.ready import Fresh
from waypost.plugins.waypost.setup import Following


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def source(url: str, clock: Clock, process: FakeProcess) -> ClusterSource:
    config = parse(make_directive(f"kubernetes cluster.local {{\nendpoint {url}\n}}"), ()).source
    return ClusterSource(config, process.services().log, Registry(), now=clock)


async def test_every_event_bookmark_and_list_ends_the_silence() -> None:
    clock = Clock()
    with ApiServer(bookmark_every=3600.0) as server:
        following = source(server.url, clock, FakeProcess())
        clock.now += 5
        assert following.silence() == 5  # nothing was heard yet
        await following.start(5.0)
        try:
            assert following.silence() == 0
            clock.now += 100
            assert following.silence() == 100
            server.put("namespaces", {"kind": "Namespace", "metadata": {"name": "a"}})
            await eventually(lambda: following.silence() == 0)
            clock.now += 100
            server.store.bookmark_every = 0.01
            await eventually(lambda: following.silence() == 0)
        finally:
            await following.close()


async def test_a_server_that_is_not_there_is_silent_from_the_beginning() -> None:
    clock = Clock()
    following = source("http://127.0.0.1:1", clock, FakeProcess())
    await following.start(0.0)
    clock.now += 60
    await asyncio.sleep(0)
    assert following.silence() == 60
    await following.close()


def handler(silence: float | None) -> Kubernetes:
    process = FakeProcess()
    site = make_site("cluster.local", process=process)
    setup(make_directive("kubernetes {\nendpoint http://127.0.0.1:1\n}"), site)
    (made,) = site.handlers["kubernetes"]
    assert isinstance(made, Kubernetes)
    return Kubernetes(made.config, made.index, [], silence=None if silence is None else lambda: silence)


def test_it_can_do_what_ready_and_waypost_look_for() -> None:
    assert isinstance(handler(1.0), Fresh)
    assert isinstance(handler(1.0), Following)


@pytest.mark.parametrize(
    ("silence", "limits", "fresh"),
    [(1e9, (), True), (180.0, (180.0,), True), (181.0, (180.0,), False), (100.0, (60.0, 180.0), False)],
)
def test_the_smallest_limit_counts(silence: float, limits: tuple[float, ...], fresh: bool) -> None:
    made = handler(silence)
    for limit in limits:
        assert made.limit_silence(limit)
    assert made.fresh() == fresh


async def test_manifests_are_never_silent(tmp_path: Path) -> None:
    site = make_site("cluster.local")
    setup(make_directive(f"kubernetes {{\nmanifests {tmp_path}\n}}"), site)
    await run(site.hooks.start)
    (made,) = site.handlers["kubernetes"]
    assert isinstance(made, Kubernetes)
    assert not made.limit_silence(1e-9)
    assert made.fresh()
    for lent in site.services.lender.lent.values():  # type: ignore[attr-defined]
        await lent.close()
