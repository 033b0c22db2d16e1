"""log: the directive, which rule and class decide, and lines that are written together."""

from __future__ import annotations

import io

import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, run
from support.upstream import until
from waypost.corefile.errors import CorefileError
from waypost.log import Log
from waypost.plugins.log import setup
from waypost.plugins.log.lines import Lines
from waypost.plugins.log.setup import parse
from waypost.toolkit.replacer import COMMON
from waypost.wire import consts
from waypost.wire.names import ROOT, from_text
from waypost.wire.record import address, soa
from waypost.wire.reply import DROP, Reply, failure

ALL: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("log", [(".", COMMON, ALL)]),
        ("log {name}", [("{name}.", COMMON, ALL)]),  # one argument is a name, whatever it looks like
        ("log . {name}", [(".", "{name}", ALL)]),
        ("log a.org B.org", [("a.org.", COMMON, ALL), ("b.org.", COMMON, ALL)]),
        ('log a.org b.org "x {name}"', [("a.org.", "x {name}", ALL), ("b.org.", "x {name}", ALL)]),
        ("log a.org\nlog b.org", [("a.org.", COMMON, ALL), ("b.org.", COMMON, ALL)]),
        ("log . {\n class success\n class denial\n}", [(".", COMMON, {"success", "denial"})]),
        ("log {\n class error all\n}", [(".", COMMON, ALL)]),
        ("log .\n{\n class error\n}", [(".", COMMON, ALL), (".", COMMON, ALL), ("error.", COMMON, ALL)]),
    ],
)
def test_rules(text: str, rules: list[tuple[str, str, set[str]]]) -> None:
    found = parse(make_directive(text)).rules
    assert [(rule.zone, rule.format, rule.classes) for rule in found][: len(rules)] == rules


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("log {\n class foo\n}", "invalid Class: foo"),
        ("log {\n class\n}", "Wrong argument count or unexpected line ending after 'class'"),
        ("log {\n foo\n}", "unknown property 'foo'"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


class Writes(io.StringIO):
    """A stream that keeps each write apart."""

    def __init__(self, writes: list[str]) -> None:
        super().__init__()
        self.writes = writes

    def write(self, text: str) -> int:
        self.writes.append(text)
        return len(text)


class Bench:
    """The handler of a directive; `ask` gives the new lines once the loop has turned."""

    def __init__(self, text: str) -> None:
        self.process = FakeProcess()
        self.site = make_site(process=self.process)
        self.site.log = self.site.log.for_plugin("log")
        setup(make_directive(text), self.site)
        (self.handler,) = self.site.all_handlers()

    async def ask(self, name: str, outcome: Reply, *, later: bool = False, metadata: bool = False) -> list[str]:
        before = len(self.process.lines)
        request = make_request(name)
        request.metadata = {} if metadata else None
        self.handler.next = FakeNext(outcome, later=later)
        result = self.handler.serve(request)
        assert (result if isinstance(result, Reply) else await result) is outcome
        return self.process.lines[before:]


NOERROR = Reply(0, 0, (address(from_text("a.org."), 1, bytes(4)),))
NODATA = Reply(0, 0, (), (soa(from_text("a.org."), 1, ROOT, ROOT, 1, (1, 1, 1, 1)),))
NXDOMAIN = Reply(consts.NXDOMAIN, 0)


@pytest.mark.parametrize("later", [False, True])
async def test_a_line_without_plugin_name(later: bool) -> None:
    bench = Bench('log . "{name} {rcode}"')
    assert await bench.ask("A.org.", NOERROR, later=later) == ["[INFO] a.org. NOERROR"]


async def test_the_first_matching_rule_decides() -> None:
    bench = Bench('log a.org "1 {name}" {\n class error\n}\nlog . "2 {name}"')
    assert await bench.ask("x.a.org.", NOERROR) == []
    assert await bench.ask("xa.org.", NOERROR) == ["[INFO] 2 xa.org."]
    assert await bench.ask("A.ORG.", DROP) == ["[INFO] 1 a.org."]


async def test_names_outside_all_rules() -> None:
    bench = Bench("log a.org")
    assert await bench.ask("b.org.", NOERROR) == []


async def test_class_error_has_no_nodata_and_no_nxdomain() -> None:
    """B134: denials without SOA were logged as errors."""
    bench = Bench('log . "{rcode}" {\n class error\n}')
    assert await bench.ask("a.org.", NODATA) == []
    assert await bench.ask("a.org.", NXDOMAIN) == []
    assert await bench.ask("a.org.", NXDOMAIN.replace(authority=NODATA.authority)) == []
    assert await bench.ask("a.org.", failure(consts.SERVFAIL)) == ["[INFO] SERVFAIL"]
    assert await bench.ask("a.org.", failure(consts.REFUSED)) == ["[INFO] REFUSED"]
    assert await bench.ask("a.org.", DROP) == ["[INFO] -"]


async def test_log_sets_metadata_where_it_is_collected() -> None:
    bench = Bench('log . "{/log/class} {/log/type}"')
    assert await bench.ask("a.org.", NODATA, metadata=True) == ["[INFO] denial NODATA"]
    assert await bench.ask("a.org.", failure(consts.SERVFAIL), metadata=True) == ["[INFO] error SERVERERROR"]
    assert await bench.ask("a.org.", NODATA) == ["[INFO] - -"]


async def test_lines_are_written_together_in_order_and_before_any_other() -> None:
    writes: list[str] = []
    process = FakeProcess(stream=Writes(writes))
    services = process.services()
    handlers = []
    for text in ('log . "{name}"', 'log . "other {name}"'):
        site = make_site(services=services)
        setup(make_directive(text), site)
        (handler,) = site.all_handlers()
        handler.next = FakeNext(NOERROR)
        handlers.append(handler)
    first, second = handlers
    first.serve(make_request("a.org."))
    second.serve(make_request("b.org."))
    first.serve(make_request("c.org."))
    assert writes == []
    together = "[INFO] a.org.\n[INFO] other b.org.\n[INFO] c.org.\n"
    await until(lambda: bool(writes))
    assert writes == [together]
    for name in ("a.org.", "b.org."):
        first.serve(make_request(name))
    services.log.for_plugin("x").error("y")
    assert writes[1:] == ["[INFO] a.org.\n[INFO] b.org.\n", "[ERROR] plugin/x: y\n"]


async def test_many_lines_do_not_wait() -> None:
    writes: list[str] = []
    lines = Lines(Log(Writes(writes)))
    for n in range(300):
        lines.add(str(n))
    assert len(writes) == 1
    assert writes[0].count("\n") == 256
    lines.flush()
    assert writes[1].count("\n") == 44


async def test_stop_writes_what_waits() -> None:
    bench = Bench('log . "{name}"')
    bench.handler.next = FakeNext(NOERROR)
    bench.handler.serve(make_request("a.org."))
    await run(bench.site.hooks.stop)
    assert bench.process.stream.getvalue() == "[INFO] a.org.\n"


def test_a_name_that_cannot_be_asked_for_is_pointed_out() -> None:
    bench = Bench("log a..b")
    assert bench.process.lines == ["[WARNING] plugin/log: nothing will be logged for 'a..b.': empty label"]
