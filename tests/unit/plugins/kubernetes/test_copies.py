"""Frames from the process that follows a cluster to those that have copies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from waypost.cluster.index import Index
from waypost.cluster.objects import Service
from waypost.plugins.kubernetes.copies import Copy, Leader, decode


def index() -> Index:
    return Index(lambda: 1000.0, kinds=("Service",))


def service(name: str) -> Service:
    spec = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}
    return msgspec.convert({"metadata": {"name": name, "namespace": "ns"}, "spec": spec}, Service)


class Led:
    """Two indexes with a leader, and frames as they are told."""

    def __init__(self) -> None:
        self.indexes = (index(), index())
        self.frames: list[bytes] = []
        self.versions: dict[str, int] = {"Service": 7}
        self.leader = Leader(self.indexes, self.frames.append, lambda: self.versions, lambda: 12.5)

    def copied(self, frames: list[bytes]) -> tuple[Copy, tuple[Index, Index]]:
        copies = (index(), index())
        copy = Copy(copies, 0.0, {})
        for frame in frames:
            copy.take(frame)
        return copy, copies


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_turns_changes_are_one_frame() -> None:
    led = Led()
    for name in ("a", "b", "c"):
        led.indexes[0].sinks["Service"].changed(service(name))
    await turn()
    assert len(led.frames) == 1
    copy, copies = led.copied(led.frames)
    assert copies[0].services == led.indexes[0].services
    assert copies[1].services == {}
    assert (copy.versions, copy.sign) == ({"Service": 7}, 12.5)


async def test_each_index_has_its_place() -> None:
    led = Led()
    led.indexes[1].sinks["Service"].changed(service("a"))
    await turn()
    assert [decode(frame).place for frame in led.frames] == [1]


async def test_a_whole_is_all_there_is() -> None:
    led = Led()
    led.indexes[0].sinks["Service"].begin_list()
    led.indexes[0].sinks["Service"].listed(service("a"))
    led.indexes[0].sinks["Service"].end_list()
    led.indexes[1].sinks["Service"].changed(service("b"))
    await turn()
    _, copies = led.copied(list(led.leader.whole()))
    assert [copy.services for copy in copies] == [each.services for each in led.indexes]
    assert [copy.synced for copy in copies] == [True, False]


async def test_how_far_the_server_is_followed_is_told_when_it_changed(monkeypatch: Any) -> None:
    led = Led()
    sleep: Callable[[float], Any] = asyncio.sleep
    monkeypatch.setattr("waypost.plugins.kubernetes.copies._TELL_EVERY", 0.0)
    running = asyncio.create_task(led.leader.run())
    await sleep(0.01)
    first = len(led.frames)
    led.versions = {"Service": 8}
    while len(led.frames) == first:
        await sleep(0)
    running.cancel()
    assert first == 1
    assert decode(led.frames[-1]).versions == {"Service": 8}


async def test_after_the_end_nothing_is_told() -> None:
    led = Led()
    led.leader.stop()
    led.indexes[0].sinks["Service"].changed(service("a"))
    await turn()
    assert led.frames == []
