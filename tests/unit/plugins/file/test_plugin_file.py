"""file: several zones in one handler, fall through, chased CNAMEs, reload, transfers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import dns.rcode
import pytest

from support.asking import block
from support.chain import FakeProcess, make_directive, make_request, make_site, run
from support.zones import HEAD, lines, write_zone
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import Transferer, settled
from waypost.plugins.file import parse, setup
from waypost.plugins.file.handler import File
from waypost.toolkit.zonenotify import Notifier
from waypost.wire import consts, names
from waypost.wire.record import address
from waypost.wire.reply import Reply

FELL = Reply(consts.NOERROR, 0, (address(names.from_text("fell."), 1, bytes(4)),))


@pytest.fixture
def db(tmp_path: Path) -> str:
    return write_zone(
        tmp_path / "db", "www A 192.0.2.2\n*.w A 192.0.2.3\na.ent A 192.0.2.4\nout CNAME www.example.net.\n"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("file", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'file'"),
        ("file db {\nreload\n}", "reload duration value is expected"),
        ("file db {\nreload soon\n}", "Corefile:3 - Error during parsing: time: invalid duration"),
        ("file db {\nfoo\n}", "Corefile:3 - Error during parsing: unknown property 'foo'"),
    ],
)
def test_faults(text: str, fault: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value).startswith(fault)


def test_options() -> None:
    first, second = parse(make_directive("file a b.org {\nreload 0\nreload_by_mtime\nfallthrough x.b.org\n}\nfile c"))
    assert (first.path, first.zones, first.reload, first.by_mtime) == ("a", ("b.org",), 0, True)
    assert first.fall.covers(names.from_text("y.x.b.org."))
    assert (second.path, second.zones, second.reload, second.by_mtime) == ("c", (), 60, False)
    assert not second.fall.zones


async def test_longest_zone_answers_and_fall_through_is_each_lines_own(db: str, tmp_path: Path) -> None:
    other = write_zone(tmp_path / "other", "www A 192.0.2.9\n")
    asked = block(setup, f"file {db} example.org\nfile {other} sub.example.org {{\nfallthrough\n}}", reply=FELL)
    assert str((await asked.ask("www.example.org.")).answer[0][0]) == "192.0.2.2"
    assert str((await asked.ask("www.sub.example.org.")).answer[0][0]) == "192.0.2.9"
    assert (await asked.ask("nope.example.org.")).rcode() == dns.rcode.NXDOMAIN
    assert await asked.reply("nope.sub.example.org.") is FELL
    assert await asked.reply("www.example.com.") is FELL


@pytest.mark.parametrize(("name", "falls"), [("nope", True), ("ent", True), ("www", False), ("x.w", False)])
async def test_fall_through(db: str, name: str, falls: bool) -> None:
    asked = block(setup, f"file {db} {{\nfallthrough\n}}", "example.org", reply=FELL)
    assert (await asked.reply(f"{name}.example.org.", "TXT") is FELL) is falls


async def test_last_plugin_refuses_other_names_without_an_error(db: str) -> None:
    """B100: a name outside of every zone was SERVFAIL, with an error in the log."""
    site = make_site(".")
    setup(make_directive(f"file {db} example.org"), site)
    site.link()
    assert site.chain is not None
    reply = await settled(site.chain.serve(make_request("x.example.net.")))
    assert (reply.rcode, reply.error, reply.written) == (consts.REFUSED, "", False)


@pytest.mark.parametrize("qtype", ["AXFR", "IXFR"])
async def test_transfers_that_no_transfer_took_are_refused(db: str, qtype: str) -> None:
    asked = block(setup, f"file {db}", "example.org")
    reply = await asked.reply("example.org.", qtype, datagram=False)
    assert (reply.rcode, reply.written) == (consts.REFUSED, False)


async def test_case(db: str) -> None:
    asked = block(setup, f"file {db}", "example.org")
    message = await asked.ask("WWW.Example.ORG.")
    assert str(message.answer[0].name) == "www.example.org."


async def test_wildcard_is_noted_when_metadata_is_collected(db: str) -> None:
    asked = block(setup, f"file {db}", "example.org")
    assert asked.site.chain is not None
    request = make_request("x.w.example.org.", site=asked.site)
    request.metadata = {}
    asked.site.chain.serve(request)
    assert request.metadata["zone/wildcard"]() == "*.w.example.org."


async def test_target_elsewhere_is_looked_up_in_the_whole_server(db: str) -> None:
    asked = block(setup, f"file {db} example.org", reply=FELL.replace(depends=(b"key",)))
    request = make_request("out.example.org.", site=asked.site)
    request.server.add(names.ROOT, asked.site)
    assert asked.site.chain is not None
    reply = await settled(asked.site.chain.serve(request))
    assert lines(reply.answer) == ["out.example.org. 60 CNAME www.example.net.", "fell. 1 A 0.0.0.0"]
    assert reply.flags & consts.AA
    assert reply.depends == (b"key",)
    assert asked.following.seen[0].query.name == names.from_text("www.example.net.")


def test_broken_file_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write_zone(tmp_path / "db", "www A nope\n")
    with pytest.raises(CorefileError, match=r"for origin example\.org\. with error .*db:4: bad A record"):
        setup(make_directive(f"file {path}"), make_site("example.org"))


def test_missing_file_is_an_error_only_if_nobody_looks_again(tmp_path: Path) -> None:
    process = FakeProcess()
    setup(make_directive(f"file {tmp_path}/nofile"), make_site("example.org", process=process))
    assert "trying again in 1m0s" in process.lines[0]
    with pytest.raises(CorefileError, match=r"^open .*/nofile: no such file or directory$"):
        setup(make_directive(f"file {tmp_path}/nofile {{\nreload 0\n}}"), make_site("example.org"))


async def test_zone_that_never_loaded_is_servfail(tmp_path: Path) -> None:
    asked = block(setup, f"file {tmp_path}/nofile", "example.org")
    reply = await asked.reply("example.org.", "SOA")
    assert (reply.rcode, reply.written) == (consts.SERVFAIL, False)
    handler = asked.site.handlers["file"][0]
    assert isinstance(handler, Transferer)
    assert handler.transfer(names.from_text("example.org."), None) is None


def test_transfer_gives_exactly_the_zones_it_has(db: str) -> None:
    site = make_site("example.org")
    setup(make_directive(f"file {db}"), site)
    (handler,) = site.handlers["file"]
    assert isinstance(handler, File)
    records = handler.transfer(names.from_text("example.org."), None)
    assert records is not None
    assert lines(records)[0].startswith("example.org. 60 SOA")
    assert handler.transfer(names.from_text("www.example.org."), None) is None
    assert handler.zones() == (names.from_text("example.org."),)


class Recorder:
    """A `transfer` that remembers what it was to notify of."""

    name = "transfer"

    def __init__(self) -> None:
        self.notified: asyncio.Queue[bytes] = asyncio.Queue()

    def notify(self, zone: bytes) -> None:
        self.notified.put_nowait(zone)


async def test_changed_serial_is_taken_and_told(tmp_path: Path) -> None:
    path = write_zone(tmp_path / "db", "www A 192.0.2.2\n")
    asked = block(setup, f"file {path} {{\nreload 10ms\n}}", "example.org")
    recorder = Recorder()
    assert isinstance(recorder, Notifier)
    asked.site.handlers["transfer"] = [recorder]  # type: ignore[list-item]  # no more of a handler is needed
    await run(asked.site.hooks.active)
    try:
        assert await recorder.notified.get() == names.from_text("example.org.")
        write_zone(tmp_path / "db", "www A 192.0.2.3\n", head=HEAD.replace(" 7 ", " 6 "))
        assert await recorder.notified.get() == names.from_text("example.org.")
        assert str((await asked.ask("www.example.org.")).answer[0][0]) == "192.0.2.3"
    finally:
        await run(asked.site.hooks.stop)
    assert 'Successfully reloaded zone "example.org."' in asked.process.lines[-1]
