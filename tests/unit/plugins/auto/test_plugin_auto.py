"""auto: zones by file name, and their coming, changing and going."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.asking import block
from support.chain import FakeProcess, make_directive, make_request, make_site
from support.zones import HEAD, write_zone
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import settled
from waypost.dispatch.site import Site
from waypost.plugins.auto import parse, setup
from waypost.plugins.auto.directory import ZoneDirectory
from waypost.plugins.auto.handler import Auto
from waypost.toolkit.regexp import compile_regexp
from waypost.toolkit.zonelist import zones_of
from waypost.wire import consts, names
from waypost.wire.reply import Reply

ORG, NET = names.from_text("example.org."), names.from_text("example.net.")


def directory(
    path: Path,
    pattern: str = r"db\.(.*)",
    template: str = "{1}",
    *,
    zones: str = ".",
    process: FakeProcess | None = None,
) -> ZoneDirectory:
    log = (process or FakeProcess()).services().log
    return ZoneDirectory(str(path), compile_regexp(pattern), template, zones_of([zones], ()), log)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("auto {\ndirectory\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        ("auto {\ndirectory a b\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        ("auto {\ndirectory a (.*) {1} 5s\n}", "Corefile:3 - Error during parsing: Wrong argument count"),
        ("auto {\ndirectory a (.* {1}\n}", "error parsing regexp: missing closing ): `(.*`"),
        ("auto {\nreload\n}", "reload duration value is expected"),
        ("auto {\nfallthrough\n}", "Corefile:3 - Error during parsing: unknown property 'fallthrough'"),
    ],
)
def test_faults(text: str, fault: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value).startswith(fault)


def test_zones_come_from_file_names(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "..data").mkdir()
    for name in ("db.example.org", "deep/db.Example.NET", "other.example.com", "..data/db.hidden.org"):
        write_zone(tmp_path / name, "")
    found = directory(tmp_path)
    found.read()
    assert set(found.zones) == {ORG, NET}


def test_template_and_zones(tmp_path: Path) -> None:
    for name in ("org.zone-example", "org.zone-third"):
        write_zone(tmp_path / name, "")
    found = directory(tmp_path, r"(.*)\.zone-(.*)", "{2}.{1}{7}", zones="example.org")
    found.read()
    assert set(found.zones) == {ORG}


def test_broken_files_and_missing_folders_are_only_logged(tmp_path: Path) -> None:
    process = FakeProcess()
    write_zone(tmp_path / "db.example.org", "", head="this is not a zone\n")
    found = directory(tmp_path, process=process)
    found.read()
    found.read()
    assert not found.zones
    assert len(process.lines) == 1
    assert "db.example.org:1: " in process.lines[0]
    directory(tmp_path / "nodir", process=process).read()
    assert "Failed to scan directory" in process.lines[1]


async def test_zones_come_change_and_go(tmp_path: Path) -> None:
    process = FakeProcess()
    write_zone(tmp_path / "db.example.org", "")
    found = directory(tmp_path, process=process)
    found.read()
    assert await found.refresh() == []
    write_zone(tmp_path / "db.example.net", "")
    write_zone(tmp_path / "db.example.org", "", head=HEAD.replace(" 7 ", " 8 "))
    assert await found.refresh() == [NET, ORG]
    org = found.zones[ORG].zone
    assert org is not None
    assert org.serial == 8
    (tmp_path / "db.example.org").unlink()
    assert await found.refresh() == []
    assert set(found.zones) == {NET}
    assert process.lines[-1] == "[INFO] Deleting zone example.org."


async def test_broken_content_keeps_the_zone(tmp_path: Path) -> None:
    write_zone(tmp_path / "db.example.org", "")
    found = directory(tmp_path)
    found.read()
    write_zone(tmp_path / "db.example.org", "", head="broken\n")
    assert await found.refresh() == []
    assert found.zones[ORG].zone is not None


async def asked_last(tmp_path: Path, line: str, name: str) -> Reply:
    site: Site = make_site(".")
    setup(make_directive(f"{line} {{\ndirectory {tmp_path}\n}}"), site)
    site.link()
    assert site.chain is not None
    return await settled(site.chain.serve(make_request(name)))


async def test_names_of_no_zone(tmp_path: Path) -> None:
    assert (await asked_last(tmp_path, "auto", "x.example.org.")).rcode == consts.REFUSED
    assert (await asked_last(tmp_path, "auto example.net", "x.example.org.")).rcode == consts.SERVFAIL
    fell = Reply(consts.NOERROR, 0)
    asked = block(setup, f"auto {{\ndirectory {tmp_path}\n}}", reply=fell)
    assert await asked.reply("x.example.org.") is fell


async def test_answers_transfers_and_zone_names(tmp_path: Path) -> None:
    write_zone(tmp_path / "db.example.org", "www A 192.0.2.2\n")
    asked = block(setup, f"auto {{\ndirectory {tmp_path}\n}}")
    assert str((await asked.ask("www.example.org.")).answer[0][0]) == "192.0.2.2"
    (handler,) = asked.site.handlers["auto"]
    assert isinstance(handler, Auto)
    assert handler.zones() == (ORG,)
    assert handler.transfer(ORG, 7) is not None
    assert handler.transfer(NET, None) is None
