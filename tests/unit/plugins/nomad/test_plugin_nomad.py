"""Questions answered from a scripted Nomad, over HTTP, judged by dnspython."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import pytest
from aiohttp import web

from support.asking import texts
from support.chain import FakeProcess, make_directive, make_site, make_wire, run
from support.http_script import Asked, HttpScript, as_json
from support.serving import CLIENT, Serving
from support.upstream import closed_port, until
from waypost.corefile.errors import CorefileError
from waypost.dispatch.explain import explain
from waypost.dispatch.handler import Ready
from waypost.plugins.nomad import parse, setup
from waypost.plugins.nomad.access import endpoints_of, headers_of, parameters_of, tls_of
from waypost.plugins.nomad.config import Config
from waypost.toolkit.http_api import Endpoint
from waypost.wire import consts
from waypost.wire.reply import failure

SERVICES: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("default", "redis"): [
        {"Address": "192.0.2.1", "Port": 25395, "ServiceName": "redis", "Tags": ["a"]},
        {"Address": "192.0.2.1", "Port": 20888, "ServiceName": "redis"},
        {"Address": "2001:db8::1", "Port": 20888, "ServiceName": "redis"},
        {"Address": "192.0.2.1", "Port": 20888, "ServiceName": "redis"},
    ],
    ("default", "v4"): [{"Address": "192.0.2.9", "Port": 1}],
    ("default", "named"): [{"Address": "host.example.org", "Port": 1}],
    ("prod", "web_1"): [{"Address": "192.0.2.2", "Port": 80}],
}


class FakeNomad:
    """What is registered, and an answer to everything if there is a `fault`."""

    def __init__(self) -> None:
        self.fault: web.Response | None = None

    def answer(self, asked: Asked) -> web.Response:
        if self.fault is not None:
            return web.Response(status=self.fault.status, body=self.fault.body)
        if asked.path == "/v1/agent/self":
            return as_json({"member": {"Name": "server-1"}})
        prefix, _, service = asked.path.rpartition("/")
        assert prefix == "/v1/service"
        return as_json(SERVICES.get((asked.query["namespace"], service), []))


class World:
    """A server block with `nomad` and the Nomad that it asks."""

    def __init__(self, nomad: FakeNomad, script: HttpScript, text: str = "") -> None:
        self.nomad = nomad
        self.script = script
        if "address" not in text:
            text += f"\naddress {script.url}"
        self.served = Serving(f". {{\nerrors\nnomad {{\n{text}\n}}\n}}", lambda request: failure(consts.REFUSED))
        self.site = next(iter(self.served.server.zones.all_sites()))

    async def ask(self, name: str, qtype: str = "A", **how: Any) -> dns.message.Message:
        return await self.served.ask(name, qtype, **how)

    @property
    def ready(self) -> bool:
        (handler,) = self.site.handlers["nomad"]
        assert isinstance(handler, Ready)
        return handler.ready()

    @property
    def services_asked(self) -> list[Asked]:
        return [asked for asked in self.script.seen if asked.path != "/v1/agent/self"]


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
    """A world between its start and its stop."""
    await run(world.site.hooks.start)
    try:
        yield world
    finally:
        await run(world.site.hooks.stop)


@asynccontextmanager
async def nomad_with(text: str) -> AsyncIterator[World]:
    nomad = FakeNomad()
    async with HttpScript(nomad.answer) as script, running(World(nomad, script, text)) as made:
        yield made


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with nomad_with("ttl 10") as made:
        yield made


@pytest.mark.parametrize(
    ("name", "qtype", "answer"),
    [
        ("redis.default.service.nomad.", "A", ["redis.default.service.nomad. 10 A 192.0.2.1"]),
        ("redis.default.service.nomad.", "AAAA", ["redis.default.service.nomad. 10 AAAA 2001:db8::1"]),
        ("Redis.Default.Service.Nomad.", "A", ["Redis.Default.Service.Nomad. 10 A 192.0.2.1"]),
        ("web_1.prod.service.nomad.", "A", ["web_1.prod.service.nomad. 10 A 192.0.2.2"]),
    ],
)
async def test_addresses(world: World, name: str, qtype: str, answer: list[str]) -> None:
    message = await world.ask(name, qtype)
    assert texts(message.answer) == answer
    assert message.flags & dns.flags.AA
    assert not message.authority
    assert not message.additional


async def test_srv(world: World) -> None:
    name = "redis.default.service.nomad."
    message = await world.ask(name, "SRV")
    assert texts(message.answer) == [f"{name} 10 SRV 10 10 20888 {name}", f"{name} 10 SRV 10 10 25395 {name}"]
    assert texts(message.additional) == [f"{name} 10 A 192.0.2.1", f"{name} 10 AAAA 2001:db8::1"]


@pytest.mark.parametrize(
    ("name", "qtype", "rcode"),
    [
        ("none.default.service.nomad.", "A", "NXDOMAIN"),
        ("redis.prod.service.nomad.", "SRV", "NXDOMAIN"),
        ("v4.default.service.nomad.", "AAAA", "NOERROR"),
        ("redis.default.service.nomad.", "TXT", "NOERROR"),
        ("named.default.service.nomad.", "A", "NOERROR"),
        ("named.default.service.nomad.", "SRV", "NOERROR"),
        ("a\\.\\.b.default.service.nomad.", "A", "NXDOMAIN"),
        ("a/b.default.service.nomad.", "A", "NXDOMAIN"),
    ],
)
async def test_denials_have_the_zones_soa(world: World, name: str, qtype: str, rcode: str) -> None:
    message = await world.ask(name, qtype)
    assert dns.rcode.to_text(message.rcode()) == rcode
    assert not message.answer
    assert texts(message.authority) == [
        "service.nomad. 10 SOA ns1.service.nomad. hostmaster.service.nomad. 0 3600 600 86400 30"
    ]


@pytest.mark.parametrize("name", ["service.nomad.", "default.service.nomad.", "x.redis.default.service.nomad.", "org."])
async def test_names_of_another_depth_pass(world: World, name: str) -> None:
    assert (await world.ask(name)).rcode() == dns.rcode.REFUSED
    assert len(world.served.last.seen) == 1
    assert world.services_asked == []


async def test_what_is_no_name_in_nomad_is_not_asked_for(world: World) -> None:
    await world.ask("\\.\\..default.service.nomad.")
    await world.ask("redis.a\\?b.service.nomad.")
    assert world.services_asked == []


async def test_explained_without_sending_anything(world: World) -> None:
    wire = make_wire("redis.default.service.nomad.")
    told = await explain(world.served.server, wire, CLIENT, offline=True)
    assert [note.text for note in told.notes if note.plugin == "nomad"] == ["would ask Nomad: nothing is sent"]
    assert world.services_asked == []
    told = await explain(world.served.server, wire, CLIENT)
    assert [note.text for note in told.notes if note.plugin == "nomad"] == ["3 instances"]


async def test_transfers_are_refused(world: World) -> None:
    message = await world.ask("redis.default.service.nomad.", "AXFR", datagram=False)
    assert message.rcode() == dns.rcode.REFUSED
    assert world.services_asked == []


async def test_what_is_sent() -> None:
    async with nomad_with('token secret\nfilter "Tags contains \\"a b\\""') as world:
        await world.ask("redis.default.service.nomad.")
        (asked,) = world.services_asked
        assert asked.query == {"namespace": "default", "filter": 'Tags contains "a b"'}
        assert asked.headers["X-Nomad-Token"] == "secret"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (web.Response(status=500, text="No cluster leader"), "status 500: No cluster leader"),
        (web.Response(status=403, text="Permission denied"), "status 403: Permission denied"),
        (web.Response(text="<html>"), "JSON is malformed"),
        (web.Response(text='[{"Address": 5}]'), "Expected `str`, got `int`"),
    ],
)
async def test_faults(world: World, fault: web.Response, text: str) -> None:
    world.nomad.fault = fault
    message = await world.ask("redis.default.service.nomad.")
    assert message.rcode() == dns.rcode.SERVFAIL
    assert text in world.served.process.lines[-1]


@pytest.mark.parametrize("fault", [web.Response(status=404), web.Response(text="null"), web.Response(text="[]")])
async def test_ways_to_say_that_nothing_is_there(world: World, fault: web.Response) -> None:
    world.nomad.fault = fault
    assert (await world.ask("redis.default.service.nomad.")).rcode() == dns.rcode.NXDOMAIN


async def test_ports_and_addresses_that_are_none_are_left_out(world: World) -> None:
    world.nomad.fault = as_json([{"Address": "192.0.2.1", "Port": 65536}, {"Address": "192.0.2.2", "Port": 1}, {}])
    message = await world.ask("redis.default.service.nomad.")
    assert texts(message.answer) == ["redis.default.service.nomad. 10 A 192.0.2.2"]


async def test_ready_once_nomad_answers_and_not_when_it_is_lost() -> None:
    nomad = FakeNomad()
    nomad.fault = web.Response(status=500)
    async with HttpScript(nomad.answer) as script:
        world = World(nomad, script)
        assert not world.ready
        async with running(world):
            await until(lambda: bool(script.seen))
            assert not world.ready
            nomad.fault = None
            await world.ask("redis.default.service.nomad.")
            assert world.ready
            nomad.fault = web.Response(status=503)
            await world.ask("redis.default.service.nomad.")
            assert not world.ready
            await until(lambda: len(script.seen) > 3)
            nomad.fault = None
            await until(lambda: world.ready)
    assert sum("no Nomad client available" in line for line in world.served.process.lines) >= 1


async def test_a_token_that_may_not_see_agents_is_no_obstacle() -> None:
    nomad = FakeNomad()
    nomad.fault = web.Response(status=403)
    async with HttpScript(nomad.answer) as script, running(World(nomad, script)) as world:
        await until(lambda: world.ready)


async def test_another_server_is_asked() -> None:
    nomad = FakeNomad()
    with closed_port() as port:
        async with HttpScript(nomad.answer) as script:
            text = f"address http://127.0.0.1:{port} {script.url}"
            async with running(World(nomad, script, text)) as world:
                assert (await world.ask("redis.default.service.nomad.")).answer


class TestMetrics:
    async def test_counted_by_server_and_namespace(self, world: World) -> None:
        await world.ask("redis.default.service.nomad.")
        await world.ask("redis.default.service.nomad.", "TXT")
        await world.ask("none.default.service.nomad.")
        assert world.served.counted("coredns_nomad_success_requests_total") == {("dns://:53", "default"): 2}
        assert world.served.counted("coredns_nomad_failed_requests_total") == {("dns://:53", "default"): 1}

    async def test_clients_cannot_make_cells(self, world: World) -> None:
        for number in range(5):
            await world.ask(f"redis.n{number}.service.nomad.")
        assert world.served.counted("coredns_nomad_failed_requests_total") == {("dns://:53", ""): 5}


class TestAccess:
    def test_the_environment_stands_in_for_the_corefile(self) -> None:
        env = {
            "NOMAD_ADDR": "https://nomad.example:4646",
            "NOMAD_TOKEN": "t",
            "NOMAD_REGION": "eu west",
            "NOMAD_HTTP_AUTH": "user:pass",
            "NOMAD_NAMESPACE": "unused",
        }
        assert endpoints_of(Config(), env) == [Endpoint("https://nomad.example:4646")]
        assert parameters_of(Config(), env) == "&region=eu+west"
        headers = headers_of(Config(), env)
        assert headers["X-Nomad-Token"] == "t"
        assert headers["Authorization"] == "Basic dXNlcjpwYXNz"
        ours = Config(addresses=("unix:///secrets/api.sock",), token="mine", filter="a == b")
        assert endpoints_of(ours, env) == [Endpoint("http://localhost", "/secrets/api.sock")]
        assert headers_of(ours, env)["X-Nomad-Token"] == "mine"
        assert parameters_of(ours, env) == "&region=eu+west&filter=a+%3D%3D+b"

    def test_nothing_said_anywhere(self) -> None:
        assert endpoints_of(Config(), {}) == [Endpoint("http://127.0.0.1:4646")]
        assert set(headers_of(Config(), {})) == {"User-Agent", "Accept"}
        assert parameters_of(Config(), {}) == ""
        assert tls_of({}).check_hostname

    def test_certificates_need_not_be_checked(self) -> None:
        assert not tls_of({"NOMAD_SKIP_VERIFY": "true"}).check_hostname
        assert tls_of({"NOMAD_SKIP_VERIFY": "0"}).check_hostname

    @pytest.mark.parametrize(
        ("env", "error"),
        [
            ({"NOMAD_CLIENT_CERT": "a"}, "NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY: expected both or none"),
            ({"NOMAD_CACERT": "/none"}, "error reading /none: open /none: no such file or directory"),
            ({"NOMAD_SKIP_VERIFY": "maybe"}, 'NOMAD_SKIP_VERIFY: strconv.ParseBool: parsing "maybe": invalid syntax'),
        ],
    )
    def test_wrong_environment(self, env: dict[str, str], error: str) -> None:
        with pytest.raises(CorefileError) as raised:
            tls_of(env)
        assert str(raised.value) == error


def test_configuration() -> None:
    text = 'nomad svc.corp {\nADDRESS http://a:1 http://b:2\naddress http://c\nfilter "x == y"\ntoken t\nttl 0\n}'
    addresses = ("http://a:1", "http://b:2", "http://c")
    assert parse(make_directive(text)) == Config("svc.corp", addresses, "x == y", "t", 0)
    assert parse(make_directive("nomad")) == Config("service.nomad", (), "", "", 30)


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("address", "at least one address is required"),
        ("filter", "exactly one filter is required"),
        ("filter a b", "exactly one filter is required"),
        ("token", "exactly one token is required"),
        ("ttl", "exactly one ttl value is required"),
        ("ttl x", 'error parsing ttl: strconv.Atoi: parsing "x": invalid syntax'),
        ("ttl 3601", "ttl must be in range [0, 3600]: 3601"),
        ("ttl -1", "ttl must be in range [0, 3600]: -1"),
        ("Foo", "unknown property 'foo'"),
    ],
)
def test_wrong_options(option: str, error: str) -> None:
    with pytest.raises(CorefileError) as raised:
        parse(make_directive(f"nomad {{\n{option}\n}}"))
    assert str(raised.value) == f"Corefile:3 - Error during parsing: {error}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("nomad a..b", "empty label"),
        ("nomad " + ".".join(["x" * 61] * 4), "names below it have no room"),
        ("nomad {\naddress ftp://a\n}", '"ftp://a" is no address of an API'),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError, match=error):
        setup(make_directive(text), make_site())


def test_what_has_no_effect_is_told() -> None:
    process = FakeProcess()
    setup(make_directive("nomad a.b c.d\nnomad e.f"), make_site(process=process))
    assert [line.split(" has ")[0] for line in process.lines] == ["[WARNING] 'c.d'", "[WARNING] 'nomad'"]
