from pathlib import Path

import pytest

from support.chain import FakeProcess, make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.hosts.setup import Config, parse, setup
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import names

EVERYWHERE = ZoneList(frozenset((names.ROOT,)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hosts", Config()),
        ("hosts {\n}", Config()),
        ("hosts h a.org b.org", Config("h", ("a.org", "b.org"))),
        ("hosts {\n 10.0.0.1 a.org b\n notanip x\n foo\n}", Config(inline=("10.0.0.1 a.org b", "notanip x", "foo"))),
        ("hosts {\n ttl 65535\n no_reverse yes\n reload 1500ms\n}", Config(ttl=65535, reverse=False, reload=1.5)),
        ("hosts {\n reload 0\n fallthrough\n ttl 5\n}", Config(reload=0.0, fall=EVERYWHERE, ttl=5)),
        ("hosts {\n fallthrough\n fallthrough_unsupported\n}", Config(fall=EVERYWHERE, fall_unsupported=True)),
    ],
)  # fmt: skip
def test_what_is_accepted(text: str, expected: Config) -> None:
    assert parse(make_directive(text)) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("hosts h\nhosts h", "this plugin can only be used once per Server Block"),
        ("hosts {\n ttl -1\n}", "Corefile:3 - Error during parsing: ttl provided is invalid"),
        ("hosts {\n ttl 0\n}", "Corefile:3 - Error during parsing: ttl provided is invalid"),
        ("hosts {\n ttl 65536\n}", "Corefile:3 - Error during parsing: ttl provided is invalid"),
        ("hosts {\n ttl 60s\n}", "Corefile:3 - Error during parsing: ttl needs a number of second"),
        ("hosts {\n ttl\n}", "Corefile:3 - Error during parsing: ttl needs a time in second"),
        ("hosts {\n reload -1s\n}", "Corefile:3 - Error during parsing: invalid negative duration for reload '-1s'"),
        ("hosts {\n reload x\n}", "Corefile:3 - Error during parsing: invalid duration for reload 'x'"),
        ("hosts {\n reload 1s 2s\n}",
         "Corefile:3 - Error during parsing: reload needs a duration (zero seconds to disable)"),
        ("hosts {\n fallthrough\n foo\n}", "Corefile:4 - Error during parsing: unknown property 'foo'"),
        ("hosts {\n fallthrough_unsupported\n}",
         "Corefile:4 - Error during parsing: fallthrough_unsupported requires fallthrough"),
        ("hosts {\n fallthrough\n fallthrough_unsupported x\n}",
         "Corefile:4 - Error during parsing: Wrong argument count or unexpected line ending after 'x'"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == error


def test_a_missing_file_and_a_directory_are_only_warnings(tmp_path: Path) -> None:
    process = FakeProcess()
    setup(make_directive(f"hosts {tmp_path}/nope"), make_site(process=process))
    setup(make_directive(f"hosts {tmp_path}"), make_site(process=process))
    assert process.lines == [
        f"[WARNING] File does not exist: {tmp_path}/nope",
        f'[WARNING] Hosts file "{tmp_path}" is a directory',
    ]


def test_a_path_that_cannot_be_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CorefileError, match=rf"^Corefile:2 - .*unable to access hosts file '{tmp_path}/file/x'"):
        setup(make_directive(f"hosts {tmp_path}/file/x"), make_site())


def test_the_file_is_relative_to_root(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("10.0.0.1 a.org\n")
    process = FakeProcess()
    site = make_site(process=process)
    site.root = str(tmp_path)
    setup(make_directive("hosts h"), site)
    family = process.metrics.families["coredns_hosts_entries"]
    assert {labels: cell.value for labels, cell in family.cells.items()} == {(f"{tmp_path}/h",): 2}


def test_without_reload_nothing_is_watched(tmp_path: Path) -> None:
    site = make_site()
    setup(make_directive(f"hosts {tmp_path}/h {{\n reload 0\n}}"), site)
    assert site.hooks.start == []
