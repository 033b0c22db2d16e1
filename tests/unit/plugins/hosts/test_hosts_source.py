import asyncio
import io
import os
from pathlib import Path

import pytest

from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.plugins.hosts.source import HostsFile
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import names


class Source:
    """A hosts file whose time goes forward with each write."""

    def __init__(self, path: Path, inline: tuple[str, ...] = ()) -> None:
        self.path = path
        self.metrics = Registry()
        everywhere = ZoneList(frozenset((names.ROOT,)))
        self.file = HostsFile(str(path), inline, everywhere, reverse=True, log=Log(io.StringIO()), metrics=self.metrics)
        self.time = 1_000_000_000

    def write(self, text: str) -> None:
        self.path.write_bytes(text.encode("latin-1"))
        self.time += 1
        os.utime(self.path, (self.time, self.time))

    def knows(self, name: str) -> bool:
        return self.file.table.addresses(names.from_text(name)) is not None


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(tmp_path / "hosts", ("10.0.0.9 inline.org",))


def test_the_lines_of_the_corefile_need_no_file(source: Source) -> None:
    source.file.read()
    assert source.knows("inline.org")


def test_a_changed_file_is_read_again(source: Source) -> None:
    source.write("10.0.0.1 a.org\n")
    source.file.read()
    assert source.knows("a.org")
    source.write("10.0.0.1 b.org\n")
    source.file.read()
    assert source.knows("b.org")
    assert not source.knows("a.org")
    assert source.knows("inline.org")


def test_an_unchanged_file_is_not_parsed_again(source: Source) -> None:
    source.write("10.0.0.1 a.org\n")
    source.file.read()
    table = source.file.table
    source.file.read()
    assert source.file.table is table


def test_a_file_that_goes_away_keeps_its_last_content(source: Source) -> None:
    source.write("10.0.0.1 a.org\n")
    source.file.read()
    source.path.unlink()
    source.file.read()
    assert source.knows("a.org")
    source.write("")
    source.file.read()
    assert not source.knows("a.org")


def test_bytes_that_are_no_text_do_no_harm(source: Source) -> None:
    source.write("10.0.0.1 \xff\xfe.org a.org\n\x00\x01\n")
    source.file.read()
    assert source.knows("a.org")


def test_metrics_say_how_much_and_of_when(source: Source) -> None:
    source.write("10.0.0.1 a.org b.org\n")
    source.file.read()
    entries = source.metrics.gauge("coredns_hosts_entries", "", ("hostsfile",)).labels(str(source.path))
    assert entries.value == 6
    modified = source.metrics.gauge("coredns_hosts_reload_timestamp_seconds", "").labels()
    assert modified.value == source.time


class Gate:
    """Stands for `asyncio.sleep`: each round waits to be let through."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.reached.set()
        await self.open.wait()
        self.open.clear()

    async def round(self) -> None:
        """Let one round run, from one wait to the next."""
        await self.reached.wait()
        self.reached.clear()
        self.open.set()
        await self.reached.wait()


async def test_following_reads_each_round_until_stopped(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate()
    monkeypatch.setattr(asyncio, "sleep", gate.sleep)
    source.file.follow(5.0)
    source.write("10.0.0.1 a.org\n")
    assert not source.knows("a.org")
    await gate.round()
    assert source.knows("a.org")
    await gate.round()
    assert set(gate.waited) == {5.0}
    task = source.file._work._task
    await source.file.stop()
    assert task is not None
    assert task.cancelled()
    await source.file.stop()
