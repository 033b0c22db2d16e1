"""k8s_external as clients and other plugins see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import dns.message
import dns.rcode
import pytest

from support.asking import summary
from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site, run
from support.objects import endpoint, endpoint_slice, make_index, namespace, port, service
from support.records import record_texts
from waypost.cluster.index import Index
from waypost.cluster.objects import Ingress
from waypost.cluster.policy import Policy
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import Outcome, Transferer, settled
from waypost.dispatch.request import Request
from waypost.plugins.k8s_external import setup
from waypost.plugins.k8s_external.config import Config, parse
from waypost.plugins.k8s_external.handler import External
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.fit import pack
from waypost.wire.record import address
from waypost.wire.reply import Reply, authoritative, copied_flags, failure

ZONES = "ext.test 203.in-addr.arpa"
SOA = "ext.test. 7 SOA ns1.dns.ext.test. hostmaster.dns.ext.test. 1000 7200 1800 86400 7"
NS1 = "ns1.dns.ext.test. 7 A 10.3.0.1"
PTR = "7.113.0.203.in-addr.arpa. 7 PTR lb.shop.ext.test."
OWN = b"\x0a\x03\x00\x01"


def cluster_index() -> Index:
    return make_index(
        namespace("shop"),
        service("shop/lb", "10.96.1.1", ports=(port(80, "http"),), outside=("203.0.113.7",)),
        service("shop/host", "10.96.1.2", ports=(port(80, "http"),), balancer=(Ingress(hostname="lb.example.net"),)),
        service(
            "shop/loop", "10.96.1.3", ports=(port(80, "http"),), balancer=(Ingress(hostname="loop.shop.ext.test"),)
        ),
        service("shop/db", "None"),
        endpoint_slice("shop/db-1", endpoint("10.0.0.1", host="db-0"), of="db"),
    )


class FakeKubernetes(FakeNext):
    """The kubernetes handler's data."""

    def __init__(self, index: Index) -> None:
        super().__init__(failure(consts.SERVFAIL, "next"), name="kubernetes")
        self.index = index
        self.policy = Policy(ttl=30)
        self.local = (OWN,)


@dataclass
class Served:
    handler: External
    kubernetes: FakeKubernetes

    async def reply(self, name: str, qtype: str = "A", **how: Any) -> Reply:
        return await settled(self.handler.serve(make_request(name, qtype, **how)))

    async def ask(self, name: str, qtype: str = "A") -> dns.message.Message:
        request = make_request(name, qtype)
        reply = await settled(self.handler.serve(request))
        if not reply.written:
            reply = Reply(reply.rcode, copied_flags(request.query))
        return dns.message.from_wire(pack(request.query, reply, datagram=True))


async def served(options: str = "ttl 7", index: Index | None = None, zones: str = ZONES) -> Served:
    site = make_site("block.test")
    setup(make_directive(f"k8s_external {zones} {{\n{options}\n}}"), site)
    kubernetes = FakeKubernetes(index or cluster_index())
    site.add(kubernetes)
    site.link()
    await run(site.hooks.start)
    handler = site.handlers["k8s_external"][0]
    assert isinstance(handler, External)
    return Served(handler, kubernetes)


AA = "QR AA RD"


@pytest.mark.parametrize(
    ("name", "qtype", "expected"),
    [
        ("Ext.test.", "SOA", ("NOERROR", AA, [SOA.replace("ext.test. 7 SOA", "Ext.test. 7 SOA")], [], [])),
        ("ext.test.", "NS", ("NOERROR", AA, ["ext.test. 7 NS ns1.dns.ext.test."], [], [NS1])),
        ("ext.test.", "A", ("NOERROR", AA, [], [SOA], [])),
        ("dns.ext.test.", "A", ("NOERROR", AA, [], [SOA], [])),
        ("ns1.dns.ext.test.", "A", ("NOERROR", AA, [NS1], [], [])),
        ("ns1.dns.ext.test.", "AAAA", ("NOERROR", AA, [], [SOA], [])),
        ("ns1.dns.ext.test.", "TXT", ("NOERROR", AA, [], [SOA], [])),
        ("x.dns.ext.test.", "A", ("NXDOMAIN", AA, [], [SOA], [])),
        ("x.ns1.dns.ext.test.", "A", ("NXDOMAIN", AA, [], [SOA], [])),
        ("shop.ext.test.", "A", ("NOERROR", AA, [], [SOA], [])),
        ("LB.shop.ext.test.", "A", ("NOERROR", AA, ["LB.shop.ext.test. 7 A 203.0.113.7"], [], [])),
        ("lb.shop.ext.test.", "TXT", ("NOERROR", AA, [], [SOA], [])),
        ("db-0.db.shop.ext.test.", "A", ("NXDOMAIN", AA, [], [SOA], [])),
        ("7.113.0.203.in-addr.arpa.", "PTR", ("NOERROR", AA, [PTR], [], [])),
        ("lb.shop.ext.test.", "AXFR", ("REFUSED", "QR RD", [], [], [])),
    ],
)  # fmt: skip
async def test_answers(name: str, qtype: str, expected: tuple[object, ...]) -> None:
    assert summary(await (await served()).ask(name, qtype)) == expected


@pytest.mark.parametrize(("name", "qtype"), [("8.113.0.203.in-addr.arpa.", "PTR"), ("113.0.203.in-addr.arpa.", "PTR")])
async def test_no_such_reverse_name(name: str, qtype: str) -> None:
    message = await (await served()).ask(name, qtype)
    assert message.rcode() == dns.rcode.NXDOMAIN
    assert message.authority[0].name.to_text() == "203.in-addr.arpa."


async def test_service_records_have_the_clusters_ttl() -> None:
    message = await (await served()).ask("_http._tcp.lb.shop.ext.test.", "SRV")
    assert summary(message)[2:] == (
        ["_http._tcp.lb.shop.ext.test. 30 SRV 0 100 80 lb.shop.ext.test."],
        [],
        ["lb.shop.ext.test. 7 A 203.0.113.7"],
    )


async def test_endpoints_with_headless() -> None:
    message = await (await served("headless")).ask("db-0.db.shop.ext.test.")
    assert summary(message)[2] == ["db-0.db.shop.ext.test. 5 A 10.0.0.1"]


async def test_another_apex() -> None:
    block = await served("apex internal\nttl 7")
    assert (await block.ask("ns1.internal.ext.test.")).answer
    assert (await block.ask("dns.ext.test.")).rcode() == dns.rcode.NXDOMAIN


async def test_answers_name_what_they_depend_on() -> None:
    block = await served()
    key = b"\x02lb\x04shop"
    assert (await block.reply("lb.shop.ext.test.")).depends == (key,)
    assert (await block.reply("lb.shop.ext.test.", "TXT")).depends == (key,)
    assert (await block.reply("7.113.0.203.in-addr.arpa.", "PTR")).depends == (b"\xcb\x00\x71\x07",)


async def test_other_names_go_to_the_next_plugin() -> None:
    block = await served()
    await block.ask("www.example.org.")
    assert len(block.kubernetes.seen) == 1


@pytest.mark.parametrize(
    ("option", "falls"), [("fallthrough", True), ("fallthrough shop.ext.test", True), ("fallthrough x.test", False)]
)
async def test_fallthrough(option: str, falls: bool) -> None:
    block = await served(option)
    await block.ask("nobody.shop.ext.test.")
    assert len(block.kubernetes.seen) == falls
    for name in ("ext.test.", "x.dns.ext.test.", "shop.ext.test.", "lb.shop.ext.test."):
        await block.ask(name, "TXT")
    assert len(block.kubernetes.seen) == falls


def looking_up(monkeypatch: pytest.MonkeyPatch, reply: Reply | None) -> list[tuple[bytes, int]]:
    """Answer internal look-ups with this reply, or with the address asked for."""
    asked: list[tuple[bytes, int]] = []

    def lookup(self: Request, qname: bytes, qtype: int) -> Outcome:
        asked.append((qname, qtype))
        packed = bytes(4 if qtype == consts.TYPE_A else 16)
        return reply or authoritative(self.query, (address(qname, 60, packed),), depends=(b"other",))

    monkeypatch.setattr(Request, "lookup", lookup)
    return asked


async def test_host_names_of_load_balancers(monkeypatch: pytest.MonkeyPatch) -> None:
    block = await served()
    asked = looking_up(monkeypatch, None)
    target = names.from_text("lb.example.net.")
    assert summary(await block.ask("host.shop.ext.test.", "AAAA"))[2] == [
        "host.shop.ext.test. 30 CNAME lb.example.net.",
        "lb.example.net. 60 AAAA ::",
    ]
    message = await block.ask("host.shop.ext.test.", "SRV")
    assert summary(message)[2] == ["host.shop.ext.test. 30 SRV 0 100 80 lb.example.net."]
    assert summary(message)[4] == ["lb.example.net. 60 A 0.0.0.0", "lb.example.net. 60 AAAA ::"]
    assert asked == [(target, consts.TYPE_AAAA), (target, consts.TYPE_A), (target, consts.TYPE_AAAA)]
    assert (await block.reply("host.shop.ext.test.")).depends == (b"\x04host\x04shop", b"other")


async def test_a_failed_look_up_leaves_the_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    looking_up(monkeypatch, Reply(consts.SERVFAIL, consts.TC))
    reply = await (await served()).reply("host.shop.ext.test.")
    assert (reply.rcode, len(reply.answer)) == (consts.NOERROR, 1)
    assert reply.flags & consts.TC


async def test_a_host_name_that_is_the_services_own_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = looking_up(monkeypatch, None)
    assert len((await (await served()).reply("loop.shop.ext.test.")).answer) == 1
    assert asked == []


async def test_before_the_cluster_was_read() -> None:
    block = await served(index=Index(lambda: 0.0, kinds=("Service",)))
    assert (await block.ask("lb.shop.ext.test.")).rcode() == dns.rcode.SERVFAIL
    assert (await block.ask("ext.test.", "SOA")).rcode() == dns.rcode.NOERROR
    assert block.handler.transfer(names.from_text("ext.test."), None) is None


async def test_a_whole_zone() -> None:
    block = await served()
    assert isinstance(block.handler, Transferer)
    records = block.handler.transfer(names.from_text("ext.test."), None)
    assert records is not None
    texts = record_texts(records)
    assert texts[:3] == [SOA, "ext.test. 7 NS ns1.dns.ext.test.", NS1]
    assert texts[-1] == SOA
    assert not [text for text in texts if " 10.96." in text], "no address from inside the cluster"


@pytest.mark.parametrize("zone", ["shop.ext.test.", "test.", "203.in-addr.arpa.", "block.test."])
async def test_other_zones_are_not_made_up(zone: str) -> None:
    assert (await served()).handler.transfer(names.from_text(zone), None) is None


@pytest.mark.parametrize(
    ("serial", "is_current"), [(999, False), (0, False), (1000, True), (1001, True), (1000 + 2**31 + 1, False)]
)
async def test_serials(serial: int, is_current: bool) -> None:
    records = (await served()).handler.transfer(names.from_text("ext.test."), serial)
    assert records is not None
    assert (len(list(records)) == 1) is is_current


async def test_the_serial_follows_what_is_seen_outside() -> None:
    seconds: Iterator[int] = count(1)
    index = Index(lambda: float(next(seconds)))
    block, headless = await served(index=index), await served("headless", index=index)
    index.sinks["Service"].changed(service("shop/inner", "10.96.1.1"))

    async def serial(block: Served) -> int:
        return (await block.ask("ext.test.", "SOA")).answer[0][0].serial  # type: ignore[no-any-return]

    assert (await serial(block), await serial(headless)) == (0, 1)


async def test_it_needs_kubernetes() -> None:
    site = make_site()
    setup(make_directive("k8s_external"), site)
    with pytest.raises(CorefileError) as caught:
        await run(site.hooks.start)
    assert str(caught.value) == "plugin/k8s_external: kubernetes plugin not loaded"


def test_defaults() -> None:
    zone = names.from_text("block.test.")
    assert parse(make_directive("k8s_external"), (zone,)) == Config((zone,), b"\x03dns", 5, False, ZoneList())


def test_options() -> None:
    text = "k8s_external Ext.test 203.0.113.0/24 {\napex Internal.x\nttl 0\nheadless\nfallthrough a.test\n}"
    assert parse(make_directive(text), ()) == Config(
        (names.from_text("ext.test."), names.from_text("113.0.203.in-addr.arpa.")),
        b"\x08internal\x01x",
        0,
        True,
        ZoneList(frozenset((names.from_text("a.test."),))),
    )


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("foo", "Corefile:3 - Error during parsing: unknown property 'foo'"),
        ("headless yes", "Corefile:3 - Error during parsing: unknown property 'yes'"),
        ("apex", "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'apex'"),
        ("apex a..b", "Corefile:3 - Error during parsing: apex 'a..b' is no domain name: empty label"),
        ("apex .", "Corefile:3 - Error during parsing: apex must be a label"),
        ("ttl", "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'ttl'"),
        ("ttl x", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("ttl 3601", "Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: 3601"),
        ("ttl -1", "Corefile:3 - Error during parsing: ttl must be in range [0, 3600]: -1"),
    ],
)
def test_mistakes(option: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"k8s_external {{\n{option}\n}}"), ())
    assert str(caught.value) == error


def test_an_apex_too_long_for_a_zone() -> None:
    zone = ".".join(["x" * 60] * 4)
    with pytest.raises(CorefileError, match="no room for the apex"):
        setup(make_directive(f"k8s_external {zone}"), make_site(process=FakeProcess()))
