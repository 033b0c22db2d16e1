"""ready: the directive, who is asked and how often, and what a reload and the end of the process change."""

from __future__ import annotations

import socket

import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_site, run
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Services, Site
from waypost.httpd import probe
from waypost.httpd.message import HttpRequest, HttpResponse
from waypost.httpd.server import HttpServer
from waypost.plugins.ready import PATH, Config, parse, setup
from waypost.wire.reply import DROP

ADDRESS = "127.0.0.1:0"


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("ready", Config(":8181", False)),
        ("ready [::1]:80", Config("[::1]:80", False)),
        ("ready {\n monitor until-ready\n}", Config(":8181", False)),
        ("ready {\n monitor continuously\n}", Config(":8181", True)),
        ("ready {\n foo bar\n}", Config(":8181", False, ("foo",))),
    ],
)
def test_options(text: str, config: Config) -> None:
    assert parse(make_directive(text)) == config


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("ready 127.0.0.1", "address 127.0.0.1: missing port in address"),
        ("ready :x", "address x: invalid port"),
        ("ready :1 x", "Wrong argument count or unexpected line ending after 'x'"),
        ("ready {\n monitor\n}", "Wrong argument count or unexpected line ending after 'monitor'"),
        ("ready {\n monitor sometimes\n}", "monitor type 'sometimes' not supported"),
        ("ready\nready", "this plugin can only be used once per Server Block"),
    ],
)
def test_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert caught.value.text == error


class Slow(FakeNext):
    """A plugin that is ready when told so, and counts how often it was asked."""

    def __init__(self, name: str, *, is_ready: bool = False) -> None:
        super().__init__(DROP, name=name)
        self.is_ready = is_ready
        self.asked = 0

    def ready(self) -> bool:
        self.asked += 1
        return self.is_ready


def block(services: Services, *handlers: FakeNext, option: str = "") -> Site:
    site = make_site(services=services)
    site.log = services.log.for_plugin("ready")
    body = f" {{\n {option}\n}}" if option else ""
    setup(make_directive(f"ready {ADDRESS}{body}"), site)
    for handler in handlers:
        site.add(handler)
    return site


def routes(process: FakeProcess) -> HttpServer:
    found = process.lender.lent[("http", ADDRESS)]
    assert isinstance(found, HttpServer)
    return found


def ask(process: FakeProcess) -> tuple[int, str]:
    answer = routes(process).routes[PATH](HttpRequest("GET", PATH, "", {}))
    assert isinstance(answer, HttpResponse)
    return answer.status, answer.body.decode()


async def test_asks_plugins_until_they_were_ready_once() -> None:
    process = FakeProcess()
    services = process.services()
    slow, fast = Slow("erratic"), Slow("kubernetes", is_ready=True)
    block(services, FakeNext(DROP), slow, fast)
    await run(services.hooks.active)
    assert ask(process) == (503, "erratic")
    assert process.lines == ['[INFO] plugin/ready: Plugins not ready: "erratic"']
    assert ask(process) == (503, "erratic")
    assert len(process.lines) == 1  # probes cannot flood the log
    slow.is_ready = True
    assert ask(process) == (200, "OK")
    slow.is_ready = fast.is_ready = False
    assert ask(process) == (200, "OK")
    assert (slow.asked, fast.asked) == (3, 1)


async def test_asks_continuously() -> None:
    process = FakeProcess()
    services = process.services()
    slow = Slow("erratic", is_ready=True)
    block(services, slow, option="monitor continuously")
    await run(services.hooks.active)
    assert ask(process) == (200, "OK")
    slow.is_ready = False
    assert ask(process) == (503, "erratic")


async def test_every_block_counts_even_with_the_same_plugin() -> None:
    process = FakeProcess()
    services = process.services()
    first, second, third = Slow("kubernetes"), Slow("kubernetes", is_ready=True), Slow("erratic")
    block(services, first)
    block(services, second, third)
    await run(services.hooks.active)
    assert ask(process) == (503, "erratic,kubernetes")
    third.is_ready = True
    assert ask(process) == (503, "kubernetes")
    first.is_ready = True
    assert ask(process) == (200, "OK")


class Silenced(Slow):
    """A ready plugin whose source falls silent when told so."""

    is_fresh = True

    def fresh(self) -> bool:
        return self.is_fresh


async def test_silence_counts_in_every_block_at_every_time() -> None:
    process = FakeProcess()
    services = process.services()
    own, other = Silenced("kubernetes", is_ready=True), Silenced("nomad", is_ready=False)
    site, without = block(services, own), make_site("cluster.local", services=services)
    without.add(other)
    site.peers.append(without)
    await run(services.hooks.active)
    assert ask(process) == (200, "OK")  # whether the other one is ready is for a `ready` of its own block
    own.is_fresh = other.is_fresh = False
    assert ask(process) == (503, "kubernetes,nomad")
    own.is_fresh = True
    assert ask(process) == (503, "nomad")
    other.is_fresh = True
    assert ask(process) == (200, "OK")


async def test_a_reload_asks_the_new_configuration_only() -> None:
    """B130: it waited for a plugin that was there no more."""
    process = FakeProcess()
    old = process.services()
    block(old, Slow("kubernetes"))
    await run(old.hooks.active)
    failed = process.services()
    block(failed, Slow("nomad"))
    await run(failed.hooks.stop)
    assert ask(process) == (503, "kubernetes")
    new = process.services()
    added = Slow("erratic")
    block(new, added)
    await run(new.hooks.active)
    await run(old.hooks.stop)
    assert ask(process) == (503, "erratic")
    added.is_ready = True
    assert ask(process) == (200, "OK")
    await run(new.hooks.stop)
    assert routes(process).routes == {}


async def test_connections_are_refused_in_lameduck() -> None:
    process = FakeProcess()
    services = process.services()
    block(services)
    block(services)
    await run(services.hooks.start + services.hooks.active)
    port = routes(process).port
    assert await probe.get("127.0.0.1", port, PATH, 5) == 200
    await run(services.hooks.final)
    with pytest.raises(ConnectionRefusedError):
        await probe.get("127.0.0.1", port, PATH, 5)
    await run(services.hooks.stop)


async def test_another_endpoint_on_the_address_outlives_ready() -> None:
    process = FakeProcess()
    services = process.services()
    block(services)
    await run(services.hooks.start + services.hooks.active)
    http = routes(process)
    http.set_route("/health", lambda request: HttpResponse(200, "text/plain", b"OK"))
    await run(services.hooks.final)
    assert await probe.get("127.0.0.1", http.port, PATH, 5) == 404
    assert await probe.get("127.0.0.1", http.port, "/health", 5) == 200
    await http.close()


async def test_a_taken_address_is_logged_only() -> None:
    process = FakeProcess()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        site = make_site(process=process)
        site.log = site.log.for_plugin("ready")
        setup(make_directive(f"ready {address}"), site)
        await run(site.hooks.start)
    text = f"Failed to start ready server: listen tcp {address}: bind: address already in use"
    assert process.lines == [f"[ERROR] plugin/ready: {text}"]


def test_an_unknown_property_is_pointed_out() -> None:
    process = FakeProcess()
    block(process.services(), option="foo")
    assert process.lines == ["[WARNING] plugin/ready: unknown property 'foo' has no effect"]
