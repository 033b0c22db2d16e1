"""The snapshot option: saved when it changed, served at a start without an API server, reconciled afterwards."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from support.objects import namespace, service
from waypost.cluster.index import Index
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.plugins.kubernetes.snapshot import Snapshot


class World:
    """A place with a file, and what was written to the log."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "cluster.snapshot"
        self.stream = io.StringIO()
        self.registry = Registry()
        self.clock = 1000.0

    def snapshot(self, index: Index, identity: str = "x") -> Snapshot:
        log = Log(self.stream)
        return Snapshot(str(self.path), identity, index, log, self.registry, now=lambda: self.clock)

    def age(self) -> float:
        (cell,) = self.registry.families["waypost_kubernetes_snapshot_age_seconds"].cells.values()
        return cell.read() if cell.read else -1.0  # type: ignore[union-attr]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def index_with(*names: str) -> Index:
    index = Index(lambda: 7.0, kinds=("Service", "Namespace"))
    for kind, items in (("Namespace", [namespace("a")]), ("Service", [service(f"a/{n}", "10.0.0.1") for n in names])):
        index.sinks[kind].begin_list()
        for item in items:
            index.sinks[kind].listed(item)
        index.sinks[kind].end_list()
    return index


async def test_saved_and_served_again(world: World) -> None:
    await world.snapshot(index_with("web")).save()
    world.clock += 60
    index = Index(lambda: 9.0, kinds=("Service", "Namespace"))
    assert world.snapshot(index).load()
    assert (list(index.services), index.known, index.synced) == ([b"\x03web\x01a"], True, False)
    assert world.age() == 60
    assert "60s old, until the Kubernetes API answers" in world.stream.getvalue()
    for sink in index.sinks.values():
        sink.begin_list()
        sink.end_list()
    assert (index.services, world.age()) == ({}, 0)


async def test_nothing_is_written_before_the_sync_or_without_a_change(world: World) -> None:
    unsynced = Index(lambda: 7.0, kinds=("Service",))
    await world.snapshot(unsynced).save()
    assert not world.path.exists()
    snapshot = world.snapshot(index_with("web"))
    await snapshot.save()
    world.path.unlink()
    await snapshot.save()
    assert not world.path.exists()


async def test_no_file_and_bad_files_are_said_and_do_no_harm(world: World) -> None:
    index = Index(lambda: 7.0, kinds=("Service",))
    assert not world.snapshot(index).load()
    world.path.write_bytes(b"something else")
    assert not world.snapshot(index).load()
    await world.snapshot(index_with("web")).save()
    assert not world.snapshot(index, identity="y").load()
    assert not index.known
    lines = world.stream.getvalue().splitlines()
    assert [line.split("]")[0] for line in lines] == ["[INFO", "[WARNING", "[WARNING"]


async def test_a_file_that_cannot_be_written_is_said_and_leaves_nothing_behind(world: World) -> None:
    world.path.mkdir()
    await world.snapshot(index_with("web")).save()
    assert "cannot be written" in world.stream.getvalue()
    assert list(world.path.parent.iterdir()) == [world.path]
