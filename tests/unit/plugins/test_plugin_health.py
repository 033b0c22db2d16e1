"""health: the directive, its life with the configuration, lameduck, and the self check with a fake clock."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from support.chain import FakeProcess, make_directive, make_site, run
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Site
from waypost.httpd import probe
from waypost.httpd.server import HttpServer
from waypost.plugins import health
from waypost.plugins.health import Config, SelfCheck, parse, setup


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("health", Config(":8080", 0)),
        ("health [::1]:80 {\n lameduck 1m\n}", Config("[::1]:80", 60)),
        ("health {\n lameduck 0\n}", Config(":8080", 0)),
        ("health {\n lameduck -1s\n}", Config(":8080", -1)),
        ("health :1 {\n lameduck 1s\n}\nhealth :2", Config(":2", 0)),
    ],
)
def test_options(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("health 127.0.0.1", "address 127.0.0.1: missing port in address"),
        ("health 127.0.0.1:x", 'parse "http://127.0.0.1:x": invalid port ":x" after host'),
        ("health :1 x", "Wrong argument count or unexpected line ending after 'x'"),
        ("health {\n lameduck\n}", "Wrong argument count or unexpected line ending after 'lameduck'"),
        (
            "health {\n lameduck 5\n}",
            "unable to parse lameduck duration value: '5' : time: missing unit in duration \"5\"",
        ),
        ("health {\n foo\n}", "unknown property 'foo'"),
        (
            "health fd00::10:9254",
            "address fd00::10:9254: too many colons in address (an IPv6 address needs brackets: [fd00::10]:9254)",
        ),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


def configure(process: FakeProcess, text: str) -> Site:
    site = make_site(process=process)
    site.log = site.log.for_plugin("health")
    setup(make_directive(text), site)
    return site


def server(process: FakeProcess, address: str) -> HttpServer:
    found = process.lender.lent[("http", address)]
    assert isinstance(found, HttpServer)
    return found


async def test_answers_from_active_to_stop_and_over_a_reload() -> None:
    process = FakeProcess()
    text = "health 127.0.0.1:0"
    old = configure(process, text)
    http = server(process, "127.0.0.1:0")
    assert http.port == 0  # setup opens nothing
    await run(old.hooks.start)
    assert await probe.get("127.0.0.1", http.port, "/health", 5) == 404
    await run(old.hooks.active)
    assert await probe.get("127.0.0.1", http.port, "/health", 5) == 200
    new = configure(process, text)
    await run(new.hooks.start + new.hooks.active)
    await run(old.hooks.stop)
    assert await probe.get("127.0.0.1", http.port, "/health", 5) == 200
    failed = configure(process, text)
    await run(failed.hooks.start + failed.hooks.stop)
    assert await probe.get("127.0.0.1", http.port, "/health", 5) == 200
    await run(new.hooks.stop)
    assert await probe.get("127.0.0.1", http.port, "/health", 5) == 404
    await http.close()


async def test_a_taken_address_fails_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        site = configure(FakeProcess(), f"health {address}")
        with pytest.raises(CorefileError) as caught:
            await run(site.hooks.start)
        assert str(caught.value) == f"listen tcp {address}: bind: address already in use"
        await run(site.hooks.stop)


@pytest.mark.parametrize(("lameduck", "slept"), [("2s", [2.0]), ("0", []), ("-1s", [])])
async def test_lameduck(lameduck: str, slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    sleeps: list[float] = []

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)

    process = FakeProcess()
    site = configure(process, f"health 127.0.0.1:0 {{\n lameduck {lameduck}\n}}")
    monkeypatch.setattr(health.asyncio, "sleep", sleep)
    await run(site.hooks.final)
    assert sleeps == slept
    assert process.lines == [f"[INFO] plugin/health: Going into lameduck mode for {s:.0f}s" for s in slept]


Get = Callable[[str, int, str, float], Awaitable[int]]


def check(process: FakeProcess, get: Get, times: list[float]) -> SelfCheck:
    log = process.services().log.for_plugin("health")
    return SelfCheck(":8080", log, process.metrics, get=get, now=iter(times).__next__)


async def ok(host: str, port: int, path: str, seconds: float) -> int:
    assert (host, port, path, seconds) == ("localhost", 8080, "/health", 3.0)
    return 200


async def refused(host: str, port: int, path: str, seconds: float) -> int:
    raise ConnectionRefusedError("connection refused")


async def too_slow(host: str, port: int, path: str, seconds: float) -> int:
    raise TimeoutError


def failures(process: FakeProcess) -> float:
    return process.metrics.counter("coredns_health_request_failures_total", "").labels().value


@pytest.mark.parametrize(
    ("get", "seconds", "failed", "line"),
    [
        (ok, 0.002, 0, None),
        (ok, 1.0, 0, None),
        (ok, 1.5, 0, "took more than 1s: 1.5s"),
        (refused, 0.5, 1, "failed: connection refused"),
        (too_slow, 3.0, 1, "failed: timed out"),
    ],
)
async def test_self_check(get: Get, seconds: float, failed: int, line: str | None) -> None:
    process = FakeProcess()
    one = check(process, get, [0.0, seconds])
    assert failures(process) == 0
    await one.check(8080)
    assert failures(process) == failed
    bounds = (0.00025, 0.0025, 0.025, 0.25, 2.5)
    histogram = process.metrics.histogram("coredns_health_request_duration_seconds", "", bounds).labels()
    assert (sum(histogram.counts), histogram.total) == (1, seconds)
    expected = [f'[WARNING] plugin/health: Local health request to "http://:8080/health" {line}'] if line else []
    assert process.lines == expected


async def test_checks_go_on_until_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    ports: list[int] = []
    enough = asyncio.Event()

    async def check(self: SelfCheck, port: int) -> None:
        ports.append(port)
        if len(ports) == 3:
            enough.set()

    monkeypatch.setattr(health, "_CHECK_EVERY", 0.0)
    monkeypatch.setattr(SelfCheck, "check", check)
    process = FakeProcess()
    site = configure(process, "health 127.0.0.1:0")
    await run(site.hooks.start + site.hooks.active)
    await enough.wait()
    await run(site.hooks.stop)
    http = server(process, "127.0.0.1:0")
    assert set(ports) == {http.port}
    assert [task for task in asyncio.all_tasks() if task.get_name() == "health"] == []
    await http.close()
