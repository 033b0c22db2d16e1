"""A followed zone file: what counts as a change, and what leaves the zone as it was."""

from __future__ import annotations

import os
from pathlib import Path

from support.chain import FakeProcess
from support.zones import HEAD, write_zone
from waypost.toolkit.zonesource import ZoneSource
from waypost.wire import names

ORIGIN = names.from_text("example.org.")


def source_of(path: Path, process: FakeProcess, *, by_mtime: bool = False) -> ZoneSource:
    write_zone(path, "old A 192.0.2.2")
    source = ZoneSource(str(path), ORIGIN, process.services().log, by_mtime=by_mtime)
    source.read()
    return source


def has(source: ZoneSource, label: str) -> bool:
    assert source.zone is not None
    return names.from_text(f"{label}.example.org.") in source.zone.nodes


async def test_same_serial_broken_and_missing_files_change_nothing(tmp_path: Path) -> None:
    process = FakeProcess()
    path = tmp_path / "db"
    source = source_of(path, process)
    for text in ("new A 192.0.2.3", "new A nope"):
        write_zone(path, text)
        assert not await source.refresh()
    assert not process.lines
    write_zone(path, "new A nope", head=HEAD.replace(" 7 ", " 8 "))
    for _ in range(2):
        assert not await source.refresh()
    assert len(process.lines) == 1
    path.unlink()
    assert not await source.refresh()
    assert has(source, "old")


async def test_another_serial_is_a_change_even_if_it_is_lower(tmp_path: Path) -> None:
    process = FakeProcess()
    source = source_of(tmp_path / "db", process)
    write_zone(tmp_path / "db", "new A 192.0.2.3", head=HEAD.replace(" 7 ", " 6 "))
    assert await source.refresh()
    assert has(source, "new")
    assert process.lines == [
        f'[INFO] Successfully reloaded zone "example.org." in "{tmp_path}/db" with 6 SOA serial',
    ]


async def test_by_mtime_ignores_the_serial(tmp_path: Path) -> None:
    source = source_of(tmp_path / "db", FakeProcess(), by_mtime=True)
    assert not await source.refresh()
    write_zone(tmp_path / "db", "new A 192.0.2.3")
    os.utime(tmp_path / "db", (1, 1))
    assert await source.refresh()
    assert not await source.refresh()
    assert has(source, "new")


async def test_file_that_comes_later(tmp_path: Path) -> None:
    source = ZoneSource(str(tmp_path / "db"), ORIGIN, FakeProcess().services().log)
    assert not await source.refresh()
    assert source.zone is None
    write_zone(tmp_path / "db", "new A 192.0.2.3")
    assert await source.refresh()
    assert has(source, "new")
