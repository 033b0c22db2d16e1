"""Questions answered from a scripted etcd, over HTTP, judged by dnspython."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import pytest
from aiohttp import web

from support.asking import summary, texts
from support.chain import make_wire, run
from support.etcd import FakeEtcd, refusal
from support.http_script import Asked, HttpScript, never
from support.serving import CLIENT, Serving
from support.upstream import closed_port
from waypost.dispatch.explain import explain
from waypost.dispatch.request import Request
from waypost.wire import consts, names
from waypost.wire.record import address, cname
from waypost.wire.reply import Reply, authoritative, failure

ELSEWHERE = names.from_text("outside.example.")
MANY = names.from_text("many.example.")


def elsewhere(request: Request) -> Reply:
    """What another plugin knows: a host with both addresses, one that is an alias, one that was cut short."""
    name, qtype = request.query.name, request.query.qtype
    if name == ELSEWHERE:
        found = {consts.TYPE_A: b"\xc6\x33\x64\x01", consts.TYPE_AAAA: bytes(15) + b"\1"}.get(qtype)
        return authoritative(request.query, (address(name, 77, found),) if found else ())
    if name == MANY:
        reply = authoritative(request.query, (cname(MANY, 78, ELSEWHERE), address(ELSEWHERE, 78, bytes(4))))
        return reply.replace(flags=reply.flags | consts.TC, depends=(b"key",))
    return failure(consts.SERVFAIL, "next")


class World:
    """A server block with `etcd skydns.local` and what it reads."""

    def __init__(self, etcd: FakeEtcd, script: HttpScript, text: str = "", head: str = "etcd skydns.local") -> None:
        self.etcd = etcd
        self.script = script
        if "endpoint" not in text:
            text += f"\nendpoint {script.url}"
        self.served = Serving(f". {{\nerrors\n{head} {{\n{text}\n}}\n}}", elsewhere)

    async def ask(self, name: str, qtype: str = "A", **how: Any) -> dns.message.Message:
        return await self.served.ask(name, qtype, **how)

    async def answer(self, name: str, qtype: str = "A") -> list[str]:
        """The answer section of a good reply, which has another one only for hosts."""
        message = await self.ask(name, qtype)
        assert message.rcode() == 0
        assert message.flags & dns.flags.AA
        return texts(message.answer)

    async def verdict(self, name: str, qtype: str = "A") -> str:
        """The rcode of a reply without an answer; NODATA for NOERROR. It has the zone's SOA."""
        message = await self.ask(name, qtype)
        assert not message.answer
        (soa,) = message.authority
        assert texts([soa])[0].startswith("skydns.local. 30 SOA ns.dns.skydns.local. hostmaster.skydns.local. ")
        return dns.rcode.to_text(message.rcode()).replace("NOERROR", "NODATA")

    @property
    def errors(self) -> list[str]:
        return [line for line in self.served.process.lines if "[ERROR]" in line]


PAIRS: dict[str, Any] = {
    "/skydns/local/skydns/web/a": {"host": "192.0.2.1", "port": 80, "ttl": 60},
    "/skydns/local/skydns/web/b": {"host": "192.0.2.2", "port": 81, "priority": 20},
    "/skydns/local/skydns/web/c": {"host": "2001:db8::1", "port": 80},
    "/skydns/local/skydns/one": {"host": "192.0.2.3"},
    "/skydns/local/skydns/alias": {"host": "web.skydns.local"},
    "/skydns/local/skydns/deep/alias/x": {"host": "alias.skydns.local."},
    "/skydns/local/skydns/away": {"host": "outside.example", "port": 443},
    "/skydns/local/skydns/lost": {"host": "nowhere.example"},
    "/skydns/local/skydns/dangling": {"host": "none.skydns.local"},
    "/skydns/local/skydns/cut": {"host": "many.example"},
    "/skydns/local/skydns/note/a": {"text": "hello", "ttl": 5},
    "/skydns/local/skydns/note/b": {"text": "x" * 300},
    "/skydns/local/skydns/note/c": {"host": "192.0.2.9", "text": "an address says no text"},
    "/skydns/local/skydns/mail/a": {"host": "192.0.2.4", "mail": True, "priority": 5},
    "/skydns/local/skydns/mail/b": {"host": "outside.example", "mail": True},
    "/skydns/local/skydns/mail/c": {"host": "192.0.2.5"},
    "/skydns/local/skydns/dns/ns/a": {"host": "192.0.2.53", "ttl": 99},
    "/skydns/local/skydns/dns/ns/b": {"host": "2001:db8::53"},
    "/skydns/local/skydns/dns/apex/x": {"host": "192.0.2.100"},
    "/skydns/arpa/in-addr/192/0/2/1": {"host": "web.skydns.local"},
}


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
    """A world between its start and its stop."""
    hooks = next(iter(world.served.server.zones.all_sites())).hooks
    await run(hooks.start)
    try:
        yield world
    finally:
        await run(hooks.stop)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    etcd = FakeEtcd(PAIRS)
    async with etcd.serving() as script, running(World(etcd, script)) as made:
        yield made


WEB = ["web.skydns.local. 60 A 192.0.2.1", "web.skydns.local. 60 A 192.0.2.2"]


@pytest.mark.parametrize(
    ("name", "qtype", "answer"),
    [
        ("web.skydns.local.", "A", WEB),
        ("web.skydns.local.", "AAAA", ["web.skydns.local. 300 AAAA 2001:db8::1"]),
        ("one.skydns.local.", "A", ["one.skydns.local. 300 A 192.0.2.3"]),
        ("b.web.skydns.local.", "A", ["b.web.skydns.local. 300 A 192.0.2.2"]),
        ("alias.skydns.local.", "A", ["alias.skydns.local. 300 CNAME web.skydns.local.", *WEB]),
        (
            "deep.skydns.local.",
            "A",
            [
                "deep.skydns.local. 300 CNAME alias.skydns.local.",
                "alias.skydns.local. 300 CNAME web.skydns.local.",
                *WEB,
            ],
        ),
        (
            "away.skydns.local.",
            "A",
            ["away.skydns.local. 300 CNAME outside.example.", "outside.example. 77 A 198.51.100.1"],
        ),
        ("lost.skydns.local.", "A", ["lost.skydns.local. 300 CNAME nowhere.example."]),
        ("away.skydns.local.", "CNAME", ["away.skydns.local. 300 CNAME outside.example."]),
        ("skydns.local.", "A", ["skydns.local. 300 A 192.0.2.100"]),
        (
            "skydns.local.",
            "NS",
            ["skydns.local. 99 NS a.ns.dns.skydns.local.", "skydns.local. 99 NS b.ns.dns.skydns.local."],
        ),
        ("*.web.skydns.local.", "AAAA", ["*.web.skydns.local. 300 AAAA 2001:db8::1"]),
        (
            "any.skydns.local.",
            "AAAA",
            ["any.skydns.local. 300 AAAA 2001:db8::1", "any.skydns.local. 300 AAAA 2001:db8::53"],
        ),
        ("a.any.skydns.local.", "A", ["a.any.skydns.local. 60 A 192.0.2.1", "a.any.skydns.local. 60 A 192.0.2.4"]),
    ],
)
async def test_answers(world: World, name: str, qtype: str, answer: list[str]) -> None:
    found = await world.answer(name, qtype)
    if name != "any.skydns.local.":
        assert found == sorted(answer)
    else:  # whatever lies in the zone, aliases and all
        assert set(answer) <= set(found)


@pytest.mark.parametrize(
    ("name", "qtype", "verdict"),
    [
        ("none.skydns.local.", "A", "NXDOMAIN"),
        ("none.skydns.local.", "HTTPS", "NXDOMAIN"),
        ("none.skydns.local.", "CNAME", "NXDOMAIN"),
        ("x.one.skydns.local.", "A", "NXDOMAIN"),
        ("a/b.skydns.local.", "A", "NXDOMAIN"),
        ("a/b.skydns.local.", "CNAME", "NXDOMAIN"),
        ("one.skydns.local.", "AAAA", "NODATA"),
        ("one.skydns.local.", "HTTPS", "NODATA"),
        ("one.skydns.local.", "ANY", "NODATA"),
        ("one.skydns.local.", "MX", "NODATA"),
        ("one.skydns.local.", "NS", "NODATA"),
        ("web.skydns.local.", "CNAME", "NODATA"),
        ("skydns.local.", "CNAME", "NODATA"),
        ("dangling.skydns.local.", "A", "NODATA"),
        ("none.*.skydns.local.", "A", "NODATA"),
    ],
)
async def test_denials(world: World, name: str, qtype: str, verdict: str) -> None:
    assert await world.verdict(name, qtype) == verdict
    assert world.errors == []


async def test_srv_of_addresses_is_for_the_names_of_their_keys(world: World) -> None:
    message = await world.ask("web.skydns.local.", "SRV")
    assert summary(message)[2:] == (
        [
            "web.skydns.local. 60 SRV 10 50 80 a.web.skydns.local.",
            "web.skydns.local. 60 SRV 10 50 80 c.web.skydns.local.",
            "web.skydns.local. 60 SRV 20 100 81 b.web.skydns.local.",
        ],
        [],
        [
            "a.web.skydns.local. 60 A 192.0.2.1",
            "b.web.skydns.local. 300 A 192.0.2.2",
            "c.web.skydns.local. 300 AAAA 2001:db8::1",
        ],
    )


async def test_srv_of_a_host_elsewhere_has_its_addresses(world: World) -> None:
    assert summary(await world.ask("away.skydns.local.", "SRV"))[2:] == (
        ["away.skydns.local. 300 SRV 10 100 443 outside.example."],
        [],
        ["outside.example. 77 A 198.51.100.1", "outside.example. 77 AAAA ::1"],
    )


async def test_srv_of_a_host_in_the_zone_has_both_kinds_of_addresses(world: World) -> None:
    message = await world.ask("alias.skydns.local.", "SRV")
    assert texts(message.answer) == ["alias.skydns.local. 300 SRV 10 100 0 web.skydns.local."]
    assert texts(message.additional) == sorted([*WEB, "web.skydns.local. 300 AAAA 2001:db8::1"])


async def test_mx_is_for_what_is_marked_as_mail(world: World) -> None:
    assert summary(await world.ask("mail.skydns.local.", "MX"))[2:] == (
        ["mail.skydns.local. 300 MX 10 outside.example.", "mail.skydns.local. 300 MX 5 a.mail.skydns.local."],
        [],
        ["a.mail.skydns.local. 300 A 192.0.2.4", "outside.example. 77 A 198.51.100.1", "outside.example. 77 AAAA ::1"],
    )


async def test_txt_is_for_texts_without_an_address_in_pieces(world: World) -> None:
    assert await world.answer("note.skydns.local.", "TXT") == [
        'note.skydns.local. 5 TXT "hello"',
        f'note.skydns.local. 5 TXT "{"x" * 255}" "{"x" * 45}"',
    ]


async def test_name_servers_come_with_their_addresses(world: World) -> None:
    message = await world.ask("skydns.local.", "NS")
    assert texts(message.additional) == [
        "a.ns.dns.skydns.local. 99 A 192.0.2.53",
        "b.ns.dns.skydns.local. 300 AAAA 2001:db8::53",
    ]


async def test_name_server_that_is_no_address(world: World) -> None:
    world.etcd.put("/skydns/local/skydns/dns/ns/c", {"host": "ns.example.org"})
    assert await world.verdict("skydns.local.", "NS") == "SERVFAIL"
    (line,) = world.errors
    assert line.endswith("/skydns/local/skydns/dns/ns/c: NS record must be an IP address: ns.example.org.")


async def test_zone_without_name_servers_is_no_missing_name(world: World) -> None:
    for key in [key for key in world.etcd.pairs if "/dns/" in key]:
        del world.etcd.pairs[key]
    assert await world.verdict("skydns.local.", "NS") == "NODATA"


async def test_addresses_of_the_zone_from_anywhere_as_of_old(world: World) -> None:
    del world.etcd.pairs["/skydns/local/skydns/dns/apex/x"]
    assert "skydns.local. 60 A 192.0.2.3" in await world.answer("skydns.local.")


async def test_soa_of_every_name_is_the_zones(world: World) -> None:
    (text,) = await world.answer("none.skydns.local.", "SOA")
    assert text.startswith("skydns.local. 30 SOA ns.dns.skydns.local. hostmaster.skydns.local. ")
    assert text.endswith(" 7200 1800 86400 30")
    assert world.script.seen == []


async def test_letter_case_is_the_clients(world: World) -> None:
    assert await world.answer("ONE.SkyDNS.local.") == ["ONE.SkyDNS.local. 300 A 192.0.2.3"]


async def test_transfers_are_refused(world: World) -> None:
    assert (await world.ask("skydns.local.", "AXFR", datagram=False)).rcode() == 5


async def test_long_text(world: World) -> None:
    world.etcd.put("/skydns/local/skydns/long", {"text": "x" * 65000})
    message = await world.ask("long.skydns.local.", "TXT", datagram=False)
    assert sum(len(piece) for piece in message.answer[0][0].strings) == 65000


async def test_explained_without_sending_anything(world: World) -> None:
    told = await explain(world.served.server, make_wire("web.skydns.local."), CLIENT, offline=True)
    assert [note.text for note in told.notes if note.plugin == "etcd"] == ["would ask etcd: nothing is sent"]
    assert world.script.seen == []
    told = await explain(world.served.server, make_wire("web.skydns.local."), CLIENT)
    assert [note.text for note in told.notes if note.plugin == "etcd"] == ["2 records from etcd"]


async def test_names_outside_of_the_zones_pass(world: World) -> None:
    assert texts((await world.ask("outside.example.")).answer) == ["outside.example. 77 A 198.51.100.1"]


async def test_a_reply_that_was_cut_short_elsewhere_says_so(world: World) -> None:
    message = await world.ask("cut.skydns.local.")
    assert message.flags & dns.flags.TC


async def test_groups(world: World) -> None:
    for key, group in {"a": "g1", "b": "g2", "c": ""}.items():
        world.etcd.put(f"/skydns/local/skydns/team/{key}/x/1", {"host": f"192.0.2.{ord(key)}", "group": group})
    world.etcd.put("/skydns/local/skydns/team/0", {"host": "192.0.2.48", "group": "g1"})
    assert await world.answer("team.skydns.local.") == [
        f"team.skydns.local. 300 A 192.0.2.{number}" for number in (48, ord("a"), ord("c"))
    ]


async def test_reverse() -> None:
    etcd = FakeEtcd(PAIRS)
    async with etcd.serving() as script, running(World(etcd, script, head="etcd 192.0.2.0/24")) as world:
        name = "1.2.0.192.in-addr.arpa."
        assert await world.answer(name, "PTR") == [f"{name} 300 PTR web.skydns.local."]
        message = await world.ask("2.2.0.192.in-addr.arpa.", "PTR")
        assert message.rcode() == dns.rcode.NXDOMAIN


class TestTimeToLive:
    @pytest.mark.parametrize(
        ("value", "left", "ttl"),
        [
            (0, None, 300),
            (60, None, 60),
            (0, 50, 50),
            (0, 3, 30),
            (0, 0, 30),
            (0, -1, 30),
            (0, 10**6, 86400),
            (20, 50, 20),
            (100, 50, 50),
            (4294967295, None, 604800),
        ],
    )
    async def test_of_values_and_leases(self, world: World, value: int, left: int | None, ttl: int) -> None:
        world.etcd.put("/skydns/local/skydns/x", {"host": "192.0.2.7", "ttl": value})
        if left is not None:
            lease = 7587869095126541567
            world.etcd.lease_of["/skydns/local/skydns/x"] = lease
            world.etcd.leases[lease] = left
        assert await world.answer("x.skydns.local.") == [f"x.skydns.local. {ttl} A 192.0.2.7"]

    async def test_each_lease_is_asked_once(self, world: World) -> None:
        world.etcd.leases = {1: 40, 2: 50}
        for number in range(6):
            world.etcd.put(f"/skydns/local/skydns/x/{number}", {"host": f"192.0.2.{number}"})
            world.etcd.lease_of[f"/skydns/local/skydns/x/{number}"] = 1 + number % 2
        assert len(await world.answer("x.skydns.local.")) == 6
        assert sum(asked.path == "/v3/lease/timetolive" for asked in world.script.seen) == 2

    async def test_bounds_of_leases(self) -> None:
        etcd = FakeEtcd(
            {"/skydns/local/skydns/x/1": {"host": "192.0.2.1"}, "/skydns/local/skydns/x/2": {"host": "192.0.2.2"}}
        )
        etcd.lease_of = {"/skydns/local/skydns/x/1": 1, "/skydns/local/skydns/x/2": 2}
        etcd.leases = {1: 59, 2: 7200}
        options = "min-lease-ttl 60\nmax-lease-ttl 1h"
        async with etcd.serving() as script, running(World(etcd, script, options)) as world:
            assert await world.answer("x.skydns.local.") == [
                "x.skydns.local. 60 A 192.0.2.1",
                "x.skydns.local. 60 A 192.0.2.2",
            ]
            assert await world.answer("2.x.skydns.local.") == ["2.x.skydns.local. 3600 A 192.0.2.2"]

    async def test_a_lease_that_nobody_tells_about_may_end_at_any_moment(self, world: World) -> None:
        world.etcd.put("/skydns/local/skydns/x", {"host": "192.0.2.7"})
        world.etcd.lease_of["/skydns/local/skydns/x"] = 9
        plain = world.script.answer
        world.script.answer = lambda asked: web.Response(status=503) if "lease" in asked.path else plain(asked)
        assert await world.answer("x.skydns.local.") == ["x.skydns.local. 30 A 192.0.2.7"]


class TestAliases:
    @pytest.mark.parametrize("host", ["x.skydns.local", "y.x.skydns.local", "X.SKYDNS.LOCAL."])
    async def test_to_itself_or_below(self, world: World, host: str) -> None:
        world.etcd.put("/skydns/local/skydns/x", {"host": host})
        assert await world.verdict("x.skydns.local.") == "NODATA"

    async def test_in_a_ring(self, world: World) -> None:
        for number in range(3):
            world.etcd.put(f"/skydns/local/skydns/r{number}", {"host": f"r{(number + 1) % 3}.skydns.local"})
        assert await world.verdict("r0.skydns.local.") == "NODATA"
        assert len(world.script.seen) < 20

    async def test_in_a_chain_that_is_too_long(self, world: World) -> None:
        for number in range(20):
            world.etcd.put(f"/skydns/local/skydns/c{number}", {"host": f"c{number + 1}.skydns.local"})
        world.etcd.put("/skydns/local/skydns/c20", {"host": "192.0.2.20"})
        assert await world.verdict("c0.skydns.local.") == "NODATA"
        assert len(await world.answer("c10.skydns.local.")) == 11

    async def test_that_branch_at_every_step_come_to_an_end(self, world: World) -> None:
        for step in range(9):
            for number in range(8):
                world.etcd.put(f"/skydns/local/skydns/b{step}/{number}", {"host": f"{number}.b{step + 1}.skydns.local"})
                world.etcd.put(f"/skydns/local/skydns/b{step}/{number}/x", {"host": f"b{step + 1}.skydns.local"})
        await world.ask("b0.skydns.local.")
        assert len(world.script.seen) < 300


class TestFaults:
    async def test_bad_value(self, world: World) -> None:
        world.etcd.put("/skydns/local/skydns/web/d", "192.0.2.1")
        assert await world.verdict("web.skydns.local.") == "SERVFAIL"
        (line,) = world.errors
        assert line.startswith("[ERROR] plugin/errors: 2 web.skydns.local. A: /skydns/local/skydns/web/d: ")
        assert await world.verdict("web.skydns.local.", "HTTPS") == "NODATA"

    @pytest.mark.parametrize(
        ("fault", "text"),
        [
            (web.Response(status=503, text='{"error":"etcdserver: no leader","code":14}'), "status 503: "),
            (
                web.Response(status=403, text='{"message":"etcdserver: permission denied","code":7}'),
                "etcdserver: permission",
            ),
            (web.Response(status=404, text="<html>"), "/v3/kv/range: status 404: <html>"),
            (web.Response(text="<html>"), "/v3/kv/range: JSON is malformed"),
            (web.Response(text='{"kvs": [{"value": "YQ=="}]}'), "missing required field `key`"),
            (web.Response(text='{"kvs": [{"key": "***"}]}'), "Invalid base64"),
        ],
    )
    async def test_bad_answers(self, world: World, fault: web.Response, text: str) -> None:
        world.etcd.fault = fault
        assert await world.verdict("web.skydns.local.") == "SERVFAIL"
        assert text in world.errors[0]

    async def test_answer_that_is_too_large(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("waypost.toolkit.http_api._MAX_BODY", 1000)
        world.etcd.fault = web.Response(text="x" * 1001)
        assert await world.verdict("web.skydns.local.") == "SERVFAIL"
        assert "an answer of more than 1000 bytes" in world.errors[0]

    async def test_nobody_there(self) -> None:
        with closed_port() as port:
            world = World(FakeEtcd(), HttpScript(never), f"endpoint http://127.0.0.1:{port}")
            async with running(world):
                assert await world.verdict("web.skydns.local.") == "SERVFAIL"
        target = f'POST "http://127.0.0.1:{port}/v3/kv/range": dial tcp 127.0.0.1:{port}: connect: connection refused'
        assert world.errors[0].endswith(target)

    async def test_another_endpoint_is_asked_and_then_first(self) -> None:
        etcd = FakeEtcd(PAIRS)
        with closed_port() as port:
            async with HttpScript(lambda asked: web.Response(status=503)) as sick, etcd.serving() as well:
                text = f"endpoint http://127.0.0.1:{port} {sick.url} {well.url}"
                async with running(World(etcd, well, text)) as world:
                    assert await world.answer("web.skydns.local.") == sorted(WEB)
                    assert await world.answer("web.skydns.local.") == sorted(WEB)
                    assert (len(sick.seen), len(well.seen)) == (1, 2)

    async def test_a_hanging_endpoint_leaves_time_for_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.modules["waypost.plugins.etcd.setup"], "_PATIENCE", 0.2)
        etcd = FakeEtcd(PAIRS)
        async with HttpScript(never) as hanging, etcd.serving() as well:
            async with running(World(etcd, well, f"endpoint {hanging.url} {well.url}")) as world:
                assert await world.answer("web.skydns.local.") == sorted(WEB)
            async with running(World(etcd, well, f"endpoint {hanging.url}")) as world:
                assert await world.verdict("web.skydns.local.") == "SERVFAIL"
                assert world.errors[0].endswith("i/o timeout")


class TestFallthrough:
    @pytest.mark.parametrize(
        ("zones", "name", "qtype", "passes"),
        [
            ("", "none.skydns.local.", "A", True),
            ("", "none.skydns.local.", "HTTPS", True),
            ("", "none.skydns.local.", "CNAME", True),
            ("a.skydns.local", "none.skydns.local.", "A", False),
            ("a.skydns.local", "none.a.skydns.local.", "A", True),
            ("", "one.skydns.local.", "AAAA", False),
            ("", "skydns.local.", "HTTPS", False),
        ],
    )
    async def test_for_names_without_a_key(self, zones: str, name: str, qtype: str, passes: bool) -> None:
        etcd = FakeEtcd(PAIRS)
        async with etcd.serving() as script, running(World(etcd, script, f"fallthrough {zones}")) as world:
            await world.ask(name, qtype)
            assert bool(world.served.last.seen) is passes

    async def test_not_when_etcd_is_away(self) -> None:
        etcd = FakeEtcd(PAIRS)
        etcd.fault = web.Response(status=503)
        async with etcd.serving() as script, running(World(etcd, script, "fallthrough")) as world:
            assert await world.verdict("none.skydns.local.") == "SERVFAIL"
            assert not world.served.last.seen


class TestCredentials:
    @pytest.fixture
    async def guarded(self) -> AsyncIterator[World]:
        etcd = FakeEtcd(PAIRS)
        etcd.users = {"dns": "secret"}
        async with etcd.serving() as script, running(World(etcd, script, "credentials dns secret")) as made:
            yield made

    async def test_one_token_for_all(self, guarded: World) -> None:
        names = [f"{host}.skydns.local." for host in ("web", "one", "alias", "away")]
        await asyncio.gather(*map(guarded.answer, names))
        assert guarded.etcd.issued == 1

    async def test_a_token_that_has_ended_is_renewed(self, guarded: World) -> None:
        await guarded.answer("web.skydns.local.")
        guarded.etcd.tokens.clear()
        assert await guarded.answer("web.skydns.local.") == sorted(WEB)
        assert guarded.etcd.issued == 2

    async def test_a_token_from_before_users_changed_is_renewed(self, guarded: World) -> None:
        await guarded.answer("web.skydns.local.")
        plain, old = guarded.script.answer, "token.1"

        def answer(asked: Asked) -> web.Response | Awaitable[web.Response]:
            if asked.headers.get("Authorization") == old:
                return refusal(400, 3, "etcdserver: revision of auth store is old")
            return plain(asked)

        guarded.script.answer = answer
        assert await guarded.answer("web.skydns.local.") == sorted(WEB)

    async def test_a_refused_password_is_not_tried_with_every_question(self, guarded: World) -> None:
        guarded.etcd.users["dns"] = "other"
        for _ in range(3):
            assert await guarded.verdict("web.skydns.local.") == "SERVFAIL"
        assert "authentication failed, invalid user ID or password" in guarded.errors[0]
        assert "secret" not in "".join(guarded.errors)
        assert len(guarded.script.seen) == 1

    async def test_none_where_etcd_wants_some(self) -> None:
        etcd = FakeEtcd(PAIRS)
        etcd.users = {"dns": "secret"}
        async with etcd.serving() as script, running(World(etcd, script)) as world:
            assert await world.verdict("web.skydns.local.") == "SERVFAIL"
            assert "user name is empty" in world.errors[0]
