"""errors: the directive, the line of a failed query, and consolidation on a fake clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site
from waypost.corefile.errors import CorefileError
from waypost.plugins.errors import Config, Errors, parse, setup
from waypost.wire import consts
from waypost.wire.reply import DROP, Reply, authoritative, failure


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("errors stdout x", "Wrong argument count or unexpected line ending after 'x'"),
        ("errors file.log", "invalid log file: file.log"),
        ("errors {\n foo\n}", "Unexpected token 'foo', expecting 'Unknown field foo'"),
        ("errors {\n stacktrace yes\n}", "Unexpected token 'yes', expecting 'Unknown field yes'"),
        ("errors {\n consolidate\n}", "Wrong argument count or unexpected line ending after 'consolidate'"),
        ("errors {\n consolidate 5m\n}", "Wrong argument count or unexpected line ending after '5m'"),
        ("errors {\n consolidate 5x x\n}", 'time: unknown unit "x" in duration "5x"'),
        ("errors {\n consolidate 5m [a\n}", "error parsing regexp: missing closing ]: `[a`"),
        ("errors {\n consolidate 5m x fatal\n}", "unknown option in consolidate: fatal"),
        ("errors {\n consolidate 5m x info error\n}", "multiple log levels specified in consolidate"),
        (
            "errors {\n consolidate 5m x show_first info\n}",
            "log level must come before show_first in consolidate",
        ),
        (f"errors {{\n consolidate 5m {'x' * 10_001}\n}}", "regex pattern too long: 10001 > 10000"),
        ("errors\nerrors", "this plugin can only be used once per Server Block"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


def test_options() -> None:
    config = parse(
        make_directive(
            'errors stdout {\n stacktrace\n consolidate 5m ".* i/o timeout$" warning show_first\n consolidate 1s ^x\n}'
        )
    )
    first, second = config.consolidations
    assert config.stacktrace
    assert (first.seconds, first.source, first.level, first.show_first) == (300, ".* i/o timeout$", "warning", True)
    assert (second.seconds, second.level, second.show_first) == (1, "error", False)
    assert parse(make_directive("errors")) == Config()


def test_stacktrace_is_a_setting_of_the_block() -> None:
    site = make_site()
    setup(make_directive("errors {\n stacktrace\n}"), site)
    assert site.stacktrace


class Timer:
    """What `call_later` gave, and what `advance` runs."""

    def __init__(self, at: float, call: Callable[[], None]) -> None:
        self.at = at
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Bench:
    """The handler of a directive in front of a failing plugin, with a clock of its own."""

    def __init__(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.process = FakeProcess()
        self.now = 0.0
        self.timers: list[Timer] = []
        site = make_site(process=self.process)
        site.log = site.log.for_plugin("errors")
        setup(make_directive(text), site)
        (handler,) = site.all_handlers()
        assert isinstance(handler, Errors)
        self.handler = handler
        self.stop = site.hooks.stop[0]
        monkeypatch.setattr(asyncio, "get_running_loop", lambda: self)

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + delay, call))
        return self.timers[-1]

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [timer for timer in self.timers if timer.at <= self.now and not timer.cancelled]
        self.timers = [timer for timer in self.timers if timer not in due]
        for timer in due:
            timer.call()

    def fail(self, error: str, name: str = "x.org.") -> None:
        self.handler.next = FakeNext(failure(consts.SERVFAIL, error))
        self.handler.serve(make_request(name))

    @property
    def lines(self) -> list[str]:
        return self.process.lines


def test_a_line_for_each_error(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench("errors", monkeypatch)
    bench.fail("plugin/chaos: no next plugin found", "X.org.")
    bench.fail("read udp 127.0.0.1:1->127.0.0.1:2: i/o timeout", r"%s\010.org.")
    assert bench.lines == [
        "[ERROR] plugin/errors: 2 x.org. A: plugin/chaos: no next plugin found",
        r"[ERROR] plugin/errors: 2 %s\010.org. A: read udp 127.0.0.1:1->127.0.0.1:2: i/o timeout",
    ]


def test_an_error_text_stays_on_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """B135"""
    bench = Bench("errors", monkeypatch)
    bench.fail("bad\n[INFO] forged\x1b[2J")
    assert bench.lines == [r"[ERROR] plugin/errors: 2 x.org. A: bad\n[INFO] forged\x1b[2J"]


@pytest.mark.parametrize("later", [False, True])
async def test_replies_pass_unchanged(later: bool) -> None:
    process = FakeProcess()
    site = make_site(process=process)
    setup(make_directive("errors"), site)
    (handler,) = site.all_handlers()
    request = make_request("x.org.")
    for reply, count in ((authoritative(request.query), 0), (DROP, 0), (failure(5, "no"), 1)):
        handler.next = FakeNext(reply, later=later)
        outcome = handler.serve(request)
        assert (outcome if isinstance(outcome, Reply) else await outcome) is reply
        assert len(process.lines) == count


def test_matching_errors_are_counted_and_reported_once_a_period(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench('errors {\n consolidate 5m "timeout$" warning\n consolidate 1s "out" info\n}', monkeypatch)
    for _ in range(3):
        bench.fail("i/o timeout")
        bench.advance(60)
    bench.fail("worn out")
    assert bench.lines == []
    bench.advance(119)
    assert bench.lines == ["[INFO] plugin/errors: 1 errors like 'out' occurred in last 1s"]
    bench.advance(1)
    assert bench.lines[1:] == ["[WARNING] plugin/errors: 3 errors like 'timeout$' occurred in last 5m0s"]
    bench.advance(3600)
    assert len(bench.lines) == 2
    bench.fail("i/o timeout")
    bench.advance(300)
    assert bench.lines[2:] == ["[WARNING] plugin/errors: 1 errors like 'timeout$' occurred in last 5m0s"]


def test_others_are_logged_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench('errors {\n consolidate 5m "timeout$"\n}', monkeypatch)
    bench.fail("timeout of another kind")
    assert bench.lines == ["[ERROR] plugin/errors: 2 x.org. A: timeout of another kind"]
    assert bench.timers == []


def test_show_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """B137: the first of many errors was seen only when the period had ended."""
    bench = Bench('errors {\n consolidate 5m "timeout$" warning show_first\n}', monkeypatch)
    bench.fail("timeout", "a.org.")
    assert bench.lines == ["[WARNING] plugin/errors: 2 a.org. A: timeout"]
    bench.advance(300)
    assert len(bench.lines) == 1  # a single one has been shown already
    bench.fail("timeout", "b.org.")
    bench.fail("timeout", "c.org.")
    bench.advance(300)
    assert bench.lines[1:] == [
        "[WARNING] plugin/errors: 2 b.org. A: timeout",
        "[WARNING] plugin/errors: 2 errors like 'timeout$' occurred in last 5m0s",
    ]


@pytest.mark.parametrize("period", ["0", "-1s"])
def test_a_period_of_nothing_ends_at_once(monkeypatch: pytest.MonkeyPatch, period: str) -> None:
    bench = Bench(f"errors {{\n consolidate {period} x\n}}", monkeypatch)
    bench.fail("x")
    bench.advance(0)
    assert len(bench.lines) == 1


def test_stop_reports_what_is_pending_and_ends_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench('errors {\n consolidate 5m "timeout$"\n consolidate 5m never\n}', monkeypatch)
    bench.fail("timeout")
    bench.stop()
    assert bench.lines == ["[ERROR] plugin/errors: 1 errors like 'timeout$' occurred in last 5m0s"]
    bench.fail("timeout")
    assert bench.lines[1:] == ["[ERROR] plugin/errors: 2 x.org. A: timeout"]
    bench.advance(3600)
    assert len(bench.lines) == 2
