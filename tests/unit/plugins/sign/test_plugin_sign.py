from __future__ import annotations

import asyncio
import io
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.chain import FakeProcess, make_directive, make_site, run
from support.dnssec_keys import ZSK, write_pair
from support.upstream import until
from support.zones import write_zone
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Site
from waypost.log import Log
from waypost.plugins.sign import parse, setup
from waypost.plugins.sign.lifetime import Lifetime
from waypost.plugins.sign.signer import SignedZone, Signer, write_whole
from waypost.toolkit import extras
from waypost.toolkit.dnssec_keys import load_keys
from waypost.toolkit.zonedata import Zone
from waypost.toolkit.zonefile import load_zone
from waypost.wire import consts, names

HOUR, DAY = 3600, 86400
ORIGIN = names.from_text("example.org.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A zone file `db` and a key `K`."""
    write_zone(tmp_path / "db", "www 60 A 192.0.2.2\n")
    write_pair(tmp_path)
    return tmp_path


class Clock:
    """A day that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.slept: list[float] = []
        self._wake = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._wake.clear()
        await self._wake.wait()

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, and what was woken do its work."""
        rounds = len(self.slept)
        self.now += seconds
        self._wake.set()
        await until(lambda: len(self.slept) > rounds)


class World:
    """A signer of one zone with a clock of ours."""

    def __init__(self, folder: Path) -> None:
        self.log = io.StringIO()
        self.clock = Clock()
        self.folder = folder
        keys = tuple(load_keys([str(folder / "K")]))
        self.tag = keys[0].tag
        self.target = folder / "db.example.org.signed"
        zone = SignedZone(ORIGIN, str(folder / "db"), str(self.target), keys, Lifetime(3 * HOUR, 32 * DAY))
        self.signer = Signer((zone,), Log(self.log), lambda: self.clock.now, self.clock.sleep)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Until the first look is over, and then stopped at the end."""
        os.utime(self.folder / "db", (0, 0))
        self.signer.start()
        await until(lambda: bool(self.clock.slept))
        yield
        await self.signer.stop()

    @property
    def lines(self) -> list[str]:
        return self.log.getvalue().splitlines()

    def zone(self) -> Zone:
        found = load_zone(str(self.target), ORIGIN)
        assert found is not None
        return found

    def serials(self) -> list[int]:
        """Those of the zones written so far, from the log."""
        return [int(line.partition(" SOA serial")[0].rpartition(" ")[2]) for line in self.lines if "Success" in line]


async def test_a_zone_that_is_not_there_is_signed(folder: Path) -> None:
    world = World(folder)
    async with world.running():
        zone = world.zone()
        assert zone.signed
        assert zone.serial == 1_800_000_000
        assert zone.nodes[ORIGIN][consts.TYPE_DNSKEY]
        done = (
            f'with key tags "{world.tag}" and 1800000000 SOA serial, elapsed 0.000000, next: 2027-01-15T13:00:00.000Z'
        )
        assert world.lines == [
            f'[INFO] Signing "example.org." because open {world.target}: no such file or directory',
            f'[INFO] Successfully signed zone "example.org." in "{world.target}" {done}',
        ]
    assert sorted(os.listdir(folder)) == ["K.key", "K.private", "db", "db.example.org.signed"]


async def test_a_zone_that_is_good_is_left_alone_until_it_is_due(folder: Path) -> None:
    async with World(folder).running():
        pass
    world = World(folder)
    async with world.running():
        where = f'"example.org." in "{world.target}"'
        assert world.lines == [f"[INFO] Skipping signing zone {where}: signatures are valid"]
        await world.clock.pass_by(5 * HOUR)
        await world.clock.pass_by(5 * DAY)
        assert world.serials() == []
        await world.clock.pass_by(DAY)
        assert world.clock.slept == [5 * HOUR] * 4
        assert world.serials() == [int(world.clock.now)]
        assert world.zone().serial == int(world.clock.now)


async def test_a_zone_file_that_has_changed_is_signed_at_the_next_look(folder: Path) -> None:
    world = World(folder)
    async with world.running():
        write_zone(folder / "db", "new 60 A 192.0.2.3\n")
        os.utime(folder / "db", ns=(0, os.stat(world.target).st_mtime_ns + 1))
        await world.clock.pass_by(5 * HOUR)
        assert world.lines[-2] == f'[INFO] Signing "example.org." because {folder / "db"} is newer'
        assert names.from_text("new.example.org.") in world.zone().nodes


async def test_another_key_is_used_at_once(folder: Path) -> None:
    async with World(folder).running():
        pass
    write_pair(folder)
    world = World(folder)
    async with world.running():
        assert world.lines[0] == f'[INFO] Signing "example.org." because it is not signed with key {world.tag}'


async def test_a_zone_file_that_is_broken_leaves_what_was_signed(folder: Path) -> None:
    world = World(folder)
    async with world.running():
        before = world.target.read_bytes()
        (folder / "db").write_text("@ IN SOA ns\n")
        await world.clock.pass_by(7 * DAY)
        assert world.lines[-1].startswith(f'[WARNING] Error signing "example.org." with key tags "{world.tag}" in 0')
        assert f"{folder / 'db'}:1:" in world.lines[-1]
        (folder / "db").unlink()
        await world.clock.pass_by(5 * HOUR)
        assert "No such file" in world.lines[-1]
        assert world.target.read_bytes() == before
        write_zone(folder / "db", "")
        await world.clock.pass_by(5 * HOUR)
        assert world.serials()[-1] == int(world.clock.now)
    assert not [name for name in os.listdir(folder) if name.startswith("signed-")]


async def test_without_a_zone_file_what_is_signed_and_good_stays(folder: Path) -> None:
    world = World(folder)
    async with world.running():
        (folder / "db").unlink()
        await world.clock.pass_by(5 * HOUR)
        assert len(world.lines) == 2


async def test_a_signed_file_that_is_broken_is_made_again(folder: Path) -> None:
    world = World(folder)
    world.target.write_text("nonsense\n")
    async with world.running():
        assert world.lines[0].startswith(f'[INFO] Signing "example.org." because {world.target}:1: ')
        assert world.zone().signed


async def test_a_directory_that_is_not_there(folder: Path) -> None:
    world = World(folder)
    (zone,) = world.signer._zones
    missing = SignedZone(zone.origin, zone.source, str(folder / "none/db"), zone.keys, zone.lifetime)
    world.signer._zones = (missing,)
    async with world.running():
        assert "No such file or directory" in world.lines[-1]


async def test_stopped_while_it_signs_it_writes_nothing(folder: Path) -> None:
    world = World(folder)
    world.signer._stopping = True
    async with world.running():
        assert "stopped" in world.lines[-1]
    assert not world.target.exists()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_whole(str(path), ["one", "two"], lambda: None)
    assert path.read_text() == "one\ntwo\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def fail() -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write_whole(str(path), ["three"], fail)
    assert path.read_text() == "one\ntwo\n"
    assert os.listdir(tmp_path) == ["file"]


def set_up(folder: Path, text: str, *labels: str, process: FakeProcess | None = None) -> Site:
    site = make_site(*(labels or ("example.org",)), process=process)
    site.root = str(folder)
    setup(make_directive(text), site)
    return site


async def test_as_a_corefile_says(folder: Path) -> None:
    process = FakeProcess()
    text = "sign db example.org example.net {\nkey file K.private\ndirectory out\n}"
    (folder / "out").mkdir()
    site = set_up(folder, text, "other.org", process=process)
    await run(site.hooks.start)
    assert process.lines == []
    await run(site.hooks.active)
    await until(lambda: len(process.lines) == 4)
    await run(site.hooks.stop)
    assert sorted(os.listdir(folder / "out")) == ["db.example.net.signed", "db.example.org.signed"]
    assert site.chain is None, "it is in no chain"


async def test_keys_of_a_directory_belong_to_the_zone_in_their_name(folder: Path) -> None:
    (folder / "keys").mkdir()
    tags = {}
    for zone in ("example.org", "example.net"):
        tags[zone] = write_pair(folder / "keys", f"K{zone}.+015+00001", f"{zone}.")
    process = FakeProcess()
    site = set_up(folder, "sign db example.org example.net {\nkey directory keys\ndirectory .\n}", process=process)
    await run(site.hooks.active)
    await until(lambda: len(process.lines) == 4)
    await run(site.hooks.stop)
    for zone, dnskey in tags.items():
        signed = load_zone(str(folder / f"db.{zone}.signed"), names.from_text(zone))
        assert signed is not None
        assert [record.rdata for record in signed.apex[consts.TYPE_DNSKEY]] == [dnskey.to_wire()]


async def test_without_a_key_nothing_is_signed_and_a_line_says_so(folder: Path) -> None:
    process = FakeProcess()
    site = set_up(folder, "sign db", process=process)
    await run(site.hooks.active)
    await run(site.hooks.stop)
    assert process.lines == ['[WARNING] no key is given for "example.org.": it is not signed']


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("sign", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'sign'"),
        ("sign db {\nfoo\n}", "Corefile:3 - Error during parsing: unknown property 'foo'"),
        ("sign db {\nkey\n}", "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending"),
        ("sign db {\nkey file\n}", "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending"),
        ("sign db {\nkey vault K\n}", "Corefile:3 - Error during parsing: unknown property 'K'"),
        ("sign db {\ndirectory\n}", 'can only be one argument after "directory"'),
        ("sign db {\ndirectory a b\n}", 'can only be one argument after "directory"'),
        ("sign db\N{REPLACEMENT CHARACTER}", 'dbfile "db\N{REPLACEMENT CHARACTER}" contains invalid characters'),
    ],
)
def test_wrong_directives(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        parse(make_directive(text))
    assert str(raised.value).startswith(error)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("key file none", "open {folder}/none.key: no such file or directory"),
        ("key file Z", 'DNSKEY in "{folder}/Z.key" is not a CSK/KSK'),
        ("key directory .", 'no key "Kexample.org.+..." in directory "{folder}/."'),
    ],
)
def test_keys_that_cannot_be_used(folder: Path, text: str, error: str) -> None:
    write_pair(folder, "Z", flags=ZSK)
    with pytest.raises(CorefileError) as raised:
        set_up(folder, f"sign db {{\n{text}\n}}")
    assert str(raised.value) == error.format(folder=folder)


def test_zone_that_no_file_can_be_named_for(folder: Path) -> None:
    with pytest.raises(CorefileError, match="has a slash in its name"):
        set_up(folder, "sign db 0/25.2.0.192.in-addr.arpa {\nkey file K\n}")


def test_the_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(CorefileError, match=r"pip install 'waypost\[dnssec\]'"):
        set_up(folder, "sign db {\nkey file K\n}")
