"""Files on disk to the sinks, and every way they change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from waypost.kube import folder, manifest_files
from waypost.kube.folder import MAX_SCANS, ManifestSource


class Sink:
    """What a list sink holds, and how often it was listed to."""

    def __init__(self) -> None:
        self.items: dict[str, Any] = {}
        self.lists = 0
        self._seen: dict[str, Any] = {}

    def begin_list(self) -> None:
        self._seen = {}

    def listed(self, obj: Any) -> None:
        self._seen[f"{obj.metadata.namespace}/{obj.metadata.name}".removeprefix("/")] = obj

    def end_list(self) -> None:
        self.items = self._seen
        self.lists += 1


class Lines:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def error(self, text: str) -> None:
        self.lines.append(f"error: {text}")

    def warning(self, text: str) -> None:
        self.lines.append(f"warning: {text}")

    def info(self, text: str) -> None:
        self.lines.append(f"info: {text}")

    def take(self) -> list[str]:
        """The lines since the last call, without those that only count."""
        taken, self.lines = [line for line in self.lines if not line.startswith("info: ")], []
        return taken


class Bench:
    """A source over a folder, with its sinks and its log."""

    def __init__(self, *paths: Path, select: dict[str, Callable[[Any], bool]] | None = None) -> None:
        self.sinks = {kind: Sink() for kind in ("Service", "EndpointSlice", "Pod", "Namespace")}
        self.log = Lines()
        self.source = ManifestSource(map(str, paths), self.sinks, self.log, select=select)

    def load(self) -> list[str]:
        return list(map(str, self.source.load()))

    async def follow(self) -> bool:
        """Look twice, as it takes to see that a change is over."""
        return await self.source.poll() or await self.source.poll()

    @property
    def services(self) -> dict[str, list[int]]:
        """The Services of namespace shop and their ports."""
        return {
            name.removeprefix("shop/"): [port.port for port in item.spec.ports or ()]
            for name, item in self.sinks["Service"].items.items()
            if name.startswith("shop/")
        }


def service(name: str, port: int | str = 80) -> str:
    spec = f"{{ports: [{{port: {port}}}]}}"
    return f"---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\nspec: {spec}\n"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A folder with two files, loaded."""
    (tmp_path / "a.yaml").write_text(service("a") + service("b"))
    (tmp_path / "c.yml").write_text(service("c"))
    made = Bench(tmp_path)
    assert made.load() == []
    assert made.services == {"a": [80], "b": [80], "c": [80]}
    assert made.log.take() == []
    return made


def test_every_sink_is_listed_to(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert bench.load() == []
    assert {kind: sink.lists for kind, sink in bench.sinks.items()} == dict.fromkeys(bench.sinks, 1)
    assert set(bench.sinks["Service"].items) == {"default/kubernetes"}
    assert set(bench.sinks["Namespace"].items) == {"default", "kube-node-lease", "kube-public", "kube-system"}


def test_which_files_are_read(tmp_path: Path) -> None:
    for place in ("z.yaml", "y.yml", "x.txt", ".hidden.yaml", "below/w.yaml", ".git/v.yaml", "below/u.YAML"):
        path = tmp_path / "in" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(service(place[-6:-5].strip("./") or "q"))
    (tmp_path / "in" / "t.json").write_text(
        '{"kind":"Service","apiVersion":"v1","metadata":{"name":"t","namespace":"shop"}}'
    )
    (tmp_path / "in" / "below" / "loop").symlink_to(tmp_path / "in")
    (tmp_path / "single.manifest").write_text(service("single"))
    bench = Bench(tmp_path / "in", tmp_path / "single.manifest")
    assert bench.load() == []
    assert set(bench.services) == {"z", "q", "w", "t", "single"}


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(service("a", "http") + service("b") + "---\n[")
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff")
    (tmp_path / "broken.yaml").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.yaml")
    bench = Bench(tmp_path, tmp_path / "missing")
    problems = bench.load()
    assert problems == [
        f"{tmp_path}/bad.yaml, document 1 (Service shop/a): spec.ports[0].port: expected an integer, got 'http'",
        f"{tmp_path}/bad.yaml, document 3: line 12: did not find expected node content",
        f"{tmp_path}/broken.yaml: cannot be read: No such file or directory",
        f"{tmp_path}/bytes.yaml: not UTF-8 at byte 3",
        f"{tmp_path}/pipe.yaml: cannot be read: neither a file nor a folder",
        f"{tmp_path}/missing: cannot be read: No such file or directory",
    ]
    assert bench.log.take() == [f"error: {problem}" for problem in problems]
    assert set(bench.services) == {"b"}


def test_selected_objects_only(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(service("a") + service("b"))
    bench = Bench(tmp_path, select={"Service": lambda item: item.metadata.name == "b"})
    bench.load()
    assert set(bench.sinks["Service"].items) == {"shop/b"}
    assert "shop" in bench.sinks["Namespace"].items


def test_a_kind_without_a_sink(tmp_path: Path) -> None:
    sink = Sink()
    assert ManifestSource([str(tmp_path)], {"Service": sink}, Lines()).load() == []
    assert set(sink.items) == {"default/kubernetes"}


async def test_a_changed_file_is_read_after_two_looks(bench: Bench, tmp_path: Path) -> None:
    assert not await bench.follow()
    (tmp_path / "a.yaml").write_text(service("a", 81))
    assert not await bench.source.poll()
    assert bench.services["a"] == [80]
    assert await bench.source.poll()
    assert bench.services == {"a": [81], "c": [80]}
    assert not await bench.follow()


async def test_only_the_kinds_that_changed_are_listed_again(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(service("a") + service("b", 81))
    assert await bench.follow()
    assert {kind: sink.lists for kind, sink in bench.sinks.items()} == {
        "Service": 2,
        "EndpointSlice": 1,
        "Pod": 1,
        "Namespace": 1,
    }


async def test_files_that_keep_changing_are_read_all_the_same(bench: Bench, tmp_path: Path) -> None:
    for look in range(1, MAX_SCANS + 1):
        (tmp_path / "a.yaml").write_text(service("a", 80 + look) * look)
        assert await bench.source.poll() == (look == MAX_SCANS)


async def test_changes_taken_back_do_not_hurry_the_next(bench: Bench, tmp_path: Path) -> None:
    for _ in range(MAX_SCANS):
        (tmp_path / "new.yaml").write_text(service("new"))
        assert not await bench.source.poll()
        (tmp_path / "new.yaml").unlink()
        assert not await bench.source.poll()
    assert "new" not in bench.services


async def test_new_and_removed_files(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "d.json").write_text(
        '{"kind":"Service","apiVersion":"v1","metadata":{"name":"d","namespace":"shop"}}'
    )
    (tmp_path / "a.yaml").unlink()
    assert await bench.follow()
    assert bench.services == {"c": [80], "d": []}


async def test_a_file_that_was_replaced_within_two_looks_never_disappears(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").rename(tmp_path / "a.yaml~")
    assert not await bench.source.poll()
    (tmp_path / "a.yaml").write_text(service("a", 81))
    assert not await bench.source.poll()
    assert bench.services["a"] == [80]
    assert await bench.source.poll()
    assert bench.services["a"] == [81]


async def test_a_broken_file_keeps_what_it_said(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    line = f"{path}, document 2 (Service shop/b): spec.ports[0].port: expected an integer, got 'http'"
    path.write_text(service("a", 81) + service("b", "http"))
    (tmp_path / "c.yml").write_text(service("c", 82))
    assert await bench.follow()
    assert bench.services == {"a": [80], "b": [80], "c": [82]}
    assert bench.log.take() == [f"warning: {line}; serving what the file said before"]
    # The fault is said again when the file changes, not when another does.
    (tmp_path / "c.yml").write_text(service("c", 83))
    assert await bench.follow()
    assert bench.services == {"a": [80], "b": [80], "c": [83]}
    assert bench.log.take() == []
    path.write_text(service("a", 82) + service("b", "http"))
    assert await bench.follow()
    assert bench.services["a"] == [80]
    assert bench.log.take() == [f"warning: {line}; serving what the file said before"]
    path.write_text(service("a", 83) + service("b", 83))
    assert await bench.follow()
    assert bench.services == {"a": [83], "b": [83], "c": [83]}
    assert bench.log.take() == []


async def test_a_file_that_never_was_good_is_followed_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(service("a") + service("b", "http"))
    bench = Bench(tmp_path)
    bench.load()
    path.write_text(service("a", 81) + service("b", "http"))
    assert await bench.follow()
    assert bench.services == {"a": [81]}
    path.write_text("")
    assert await bench.follow()
    assert bench.services == {"a": [81]}


async def test_an_emptied_file_is_about_to_be_written(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("")
    assert await bench.follow()
    assert bench.services["a"] == [80]
    assert bench.log.take() == [f"warning: {path}: is empty; serving what the file said before"]
    path.write_text("# nothing any more\n")
    assert await bench.follow()
    assert bench.services == {"c": [80]}


async def test_a_folder_that_went_away_keeps_what_it_said(tmp_path: Path) -> None:
    inside, other = tmp_path / "in", tmp_path / "other.yaml"
    inside.mkdir()
    (inside / "a.yaml").write_text(service("a"))
    other.write_text(service("b"))
    bench = Bench(inside, other)
    bench.load()
    inside.rename(tmp_path / "away")
    assert await bench.follow()
    assert bench.services == {"a": [80], "b": [80]}
    assert bench.log.take() == [
        f"warning: {inside}: cannot be read: No such file or directory; serving what the file said before"
    ]
    other.write_text(service("b", 81))
    assert await bench.follow()
    assert bench.services == {"a": [80], "b": [81]}
    assert bench.log.take() == []
    (tmp_path / "away").rename(inside)
    (inside / "a.yaml").write_text(service("a", 82))
    assert await bench.follow()
    assert bench.services == {"a": [82], "b": [81]}


async def test_a_mounted_config_map_is_swapped_as_a_whole(tmp_path: Path) -> None:
    """The kubelet writes a new folder and moves the symlink `..data` over the old one."""
    mount = tmp_path / "mount"
    for version, port in (("..1", 80), ("..2", 81)):
        (mount / version).mkdir(parents=True)
        (mount / version / "a.yaml").write_text(service("a", port))
        os.utime(mount / version / "a.yaml", ns=(1, 1))
    (mount / "..data").symlink_to("..1")
    (mount / "a.yaml").symlink_to("..data/a.yaml")
    bench = Bench(mount)
    assert bench.load() == []
    assert bench.services == {"a": [80]}
    (mount / "..new").symlink_to("..2")
    (mount / "..new").replace(mount / "..data")
    assert await bench.follow()
    assert bench.services == {"a": [81]}


async def test_the_same_object_in_two_files(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(service("c", 99))
    assert await bench.follow()
    assert bench.services["c"] == [99]
    first = f"{tmp_path}/c.yml, document 1 (Service shop/c)"
    assert bench.log.take() == [
        f"error: {first}: metadata.name: given again in {tmp_path}/d.yaml, document 1, which is used"
    ]


async def test_run_follows_by_itself(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "POLL_SECONDS", 0.001)
    listed = asyncio.Event()
    monkeypatch.setattr(bench.sinks["Service"], "end_list", listed.set)
    task = asyncio.create_task(bench.source.run())
    (tmp_path / "a.yaml").write_text(service("a", 81))
    await listed.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_loop_has_turns_during_a_large_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "SLICE", 2)
    bench = Bench(tmp_path)
    bench.load()
    (tmp_path / "a.yaml").write_text("".join(service(f"s{number}") for number in range(9)))
    await bench.source.poll()
    turns = 0
    task = asyncio.create_task(bench.source.poll())
    while not task.done():
        turns += bench.sinks["Service"].lists == 1 and bool(bench.sinks["Service"]._seen)
        await asyncio.sleep(0)
    assert len(bench.services) == 9
    assert turns >= 4


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(service("a"))

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert Bench(tmp_path).load() == [f"{path}: cannot be read: Permission denied"]


def test_a_file_beyond_all_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_files, "MAX_BYTES", 1024**2)
    path = tmp_path / "a.yaml"
    path.write_text(service("a") + "#" * 1024**2)
    assert Bench(tmp_path).load() == [f"{path}: cannot be read: larger than 1 MiB"]
