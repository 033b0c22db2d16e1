"""Faults of cluster DNS servers that users reported in public, one by one: `Bnn` is the number in the list of cases.

Here are those about records; those about following the API are in test_kubernetes_faults.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import dns.asyncquery
import dns.flags
import dns.message
import dns.rdatatype
import dns.reversename
import pytest

from support.apiobjects import api_namespace, api_service, api_slice
from support.apiserver import ApiServer
from support.asking import summary, texts
from support.chain import FakeNext, make_directive, make_request
from support.objects import endpoint, endpoint_slice, make_index, namespace, port, service
from support.process import free_port, serving
from support.upstream import Asked, ScriptedUpstream, Send, reply
from waypost.cluster.index import Index
from waypost.cluster.objects import EndpointPort
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.wire import consts
from waypost.wire.fit import pack
from waypost.wire.reply import Reply, failure

HTTP = EndpointPort(8080, "http", "TCP")
Ask = Callable[..., dns.message.Message]


def asking(index: Index, options: str = "", zones: str = "cluster.local in-addr.arpa ip6.arpa") -> Ask:
    """A function that asks the plugin over this index; names without an end are within `svc.cluster.local`."""
    handler = Kubernetes(parse(make_directive(f"kubernetes {zones} {{\n{options}\n}}"), ()), index, [])
    handler.next = FakeNext(failure(consts.REFUSED))

    def ask(name: str, qtype: str = "A", **how: object) -> dns.message.Message:
        qname = name if name.endswith(".") else f"{name}.svc.cluster.local."
        request = make_request(qname, qtype, datagram=False, **how)  # type: ignore[arg-type]
        found = handler.serve(request)
        assert isinstance(found, Reply)
        return dns.message.from_wire(pack(request.query, found, datagram=False))

    return ask


def outcome(message: dns.message.Message) -> str:
    """`RCODE ANSWERS AUTHORITY`, the last two as types."""
    sections = (message.answer, message.authority)
    types = [",".join(dns.rdatatype.to_text(rrset.rdtype) for rrset in section) or "-" for section in sections]
    return " ".join((dns.rcode.to_text(message.rcode()), *types))


NODATA, NXDOMAIN = "NOERROR - SOA", "NXDOMAIN - SOA"
BASIC = make_index(
    namespace("a"),
    service("a/svc1", "10.96.0.1", ports=(port(80, "http"),)),
    service("a/ext", external="www.example.org"),
)


@pytest.mark.parametrize(
    ("name", "qtype", "wanted"),
    [
        pytest.param("svc1.a", "TXT", NODATA, id="B51-existing"),
        pytest.param("svc0.missing", "TXT", NXDOMAIN, id="B51-missing"),
        pytest.param("dns-version.cluster.local.", "TXT", "NOERROR TXT -", id="B51-version"),
        pytest.param("a", "NS", NODATA, id="B52-ns-below-the-apex"),
        pytest.param("foo.cluster.local.", "NS", NXDOMAIN, id="B52-ns-of-nothing"),
        pytest.param("svc1.a", "SOA", NODATA, id="B52-soa-of-a-service"),
        pytest.param("ns.dns.cluster.local.", "AAAA", NODATA, id="B52-name-server"),
        pytest.param("cluster.local.", "SOA", "NOERROR SOA -", id="B52-apex"),
        pytest.param("x.ext.a", "A", NXDOMAIN, id="B54-one-label"),
        pytest.param("x.ext.a", "CNAME", NXDOMAIN, id="B54-one-label-cname"),
        pytest.param("x.y.ext.a", "A", NXDOMAIN, id="B54-two-labels"),
        pytest.param("_http._tcp.ext.a", "SRV", NXDOMAIN, id="B54-port"),
        pytest.param("_http._tcp.ext.a", "CNAME", NXDOMAIN, id="B54-port-cname"),
    ],
)
@pytest.mark.parametrize("spell", [str.lower, str.title, str.upper])
def test_types_and_names(name: str, qtype: str, wanted: str, spell: Callable[[str], str]) -> None:
    """Also B52: whatever the spelling, and with it."""
    qname = spell(name if name.endswith(".") else f"{name}.svc.cluster.local.")
    message = asking(BASIC)(qname, qtype)
    assert outcome(message) == wanted
    assert message.flags & dns.flags.AA
    assert all(rrset.name.to_text() == qname for rrset in message.answer)
    zone = qname[-len("cluster.local.") :]
    assert all(rrset.name.to_text() == zone for rrset in message.authority)


def test_an_address_as_external_name() -> None:
    """B57: never a CNAME to a number, which would go upstream as a name. It is as if the Service did not exist."""
    index = make_index(namespace("a"), service("a/number", external="192.0.2.7"))
    for qtype in ("A", "AAAA", "CNAME"):
        assert outcome(asking(index)("number.a", qtype)) == NXDOMAIN


def test_empty_services_are_ignored_but_external_names_are_not_empty() -> None:
    """B59."""
    index = make_index(
        namespace("a"),
        service("a/ext", external="www.example.org"),
        service("a/empty", "10.96.0.1"),
        service("a/unready", "10.96.0.2"),
        endpoint_slice("a/unready-1", endpoint("10.0.0.1", ready=False), of="unready"),
        service("a/full", "10.96.0.3"),
        endpoint_slice("a/full-1", endpoint("10.0.0.2"), of="full"),
    )
    ask = asking(index, "ignore empty_service")
    assert outcome(ask("ext.a", "CNAME")) == "NOERROR CNAME -"
    assert [outcome(ask(f"{name}.a")) for name in ("empty", "unready")] == [NXDOMAIN] * 2
    assert outcome(ask("full.a")) == "NOERROR A -"


def test_headless_services_without_endpoints() -> None:
    """B60: `noendpoints` makes headless names NXDOMAIN, and nothing fails."""
    index = make_index(
        namespace("a"),
        service("a/db", "None", ports=(port(80, "http"),)),
        endpoint_slice("a/db-1", endpoint("10.0.0.1", host="db-0"), of="db", ports=(HTTP,)),
    )
    ask = asking(index, "noendpoints")
    for name, qtype in (("db.a", "A"), ("db.a", "SRV"), ("db-0.db.a", "A"), ("_http._tcp.db.a", "SRV")):
        assert outcome(ask(name, qtype)) == NXDOMAIN


def test_ports_of_endpoints_count_by_their_own_name() -> None:
    """B72: the name in SRV is that of the endpoint's port (DNS specification 2.4.2), not of the Service's."""
    index = make_index(
        namespace("a"),
        service("a/mongo", "None", ports=(port(27017, "mongodb"),)),
        endpoint_slice("a/mongo-1", endpoint("10.0.0.1"), of="mongo", ports=(EndpointPort(27017, None, "TCP"),)),
    )
    ask = asking(index)
    assert outcome(ask("_mongodb._tcp.mongo.a", "SRV")) == NXDOMAIN
    assert texts(ask("mongo.a", "SRV").answer) == [
        "mongo.a.svc.cluster.local. 5 SRV 0 100 27017 10-0-0-1.mongo.a.svc.cluster.local."
    ]


@pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1"])
def test_several_reverse_names_are_in_one_order(address: str) -> None:
    """B73: the same every time, whatever the order in which they came to be."""
    kind = "IPv6" if ":" in address else "IPv4"
    items = [
        namespace("a"),
        service("a/front", "10.96.0.1"),
        service("a/back", "10.96.0.2"),
        service("a/db", "None"),
        endpoint_slice("a/front-1", endpoint(address), of="front", kind=kind),
        endpoint_slice("a/back-1", endpoint(address), of="back", kind=kind),
        endpoint_slice("a/db-1", endpoint(address, host="db-0"), of="db", kind=kind),
    ]
    qname = dns.reversename.from_address(address).to_text()
    answers = set()
    for seed in range(20):
        random.Random(seed).shuffle(items)
        ask = asking(make_index(*items))
        for _ in range(5):
            answers.add(tuple(record.to_text() for record in ask(qname, "PTR").answer[0]))
    assert len(answers) == 1
    assert "db-0.db.a.svc.cluster.local." in answers.pop()


@pytest.mark.parametrize(
    ("address", "label"),
    [
        ("2001:db8::", "2001-db8--0"),
        ("2001:db8:1:2::", "2001-db8-1-2--0"),
        ("::1", "--1"),
        ("2001:db8:1:2:3:4:5:6", "2001-db8-1-2-3-4-5-6"),
        ("192.0.2.1", "192-0-2-1"),
    ],
)
def test_labels_made_from_addresses(address: str, label: str) -> None:
    """B75: the target of SRV leads back to the address, and is a host name where RFC 5952 lets it be."""
    index = make_index(
        namespace("a"), service("a/db", "None"), endpoint_slice("a/db-1", endpoint(address), of="db", ports=(HTTP,))
    )
    ask = asking(index)
    (record,) = ask("db.a", "SRV").answer[0]
    target = record.target.to_text()
    assert target == f"{label}.db.a.svc.cluster.local."
    assert not target.split(".")[0].endswith("-")
    found = ask(target, "AAAA" if ":" in address else "A")
    assert [each.to_text() for each in found.answer[0]] == [address]
    assert ask(dns.reversename.from_address(address).to_text(), "PTR").answer[0][0].target == record.target


@pytest.mark.parametrize("length", [1, 63, 64, 70, 253])
def test_long_pod_names(length: int) -> None:
    """B76: a pod's name that is no label gives way to the dashed address."""
    index = make_index(
        namespace("a"),
        service("a/db", "None"),
        endpoint_slice("a/db-1", endpoint("10.0.0.1", pod="p" * length), of="db", ports=(HTTP,)),
        pod_names=True,
    )
    ask = asking(index, "endpoint_pod_names")
    (record,) = ask("db.a", "SRV").answer[0]
    assert record.target.labels[0] == (b"p" * length if length < 64 else b"10-0-0-1")
    assert outcome(ask(record.target.to_text())) == "NOERROR A -"
    assert outcome(ask("db.a")) == "NOERROR A -"


@pytest.mark.parametrize(("count", "weight"), [(1, 100), (3, 33), (99, 1), (100, 1), (101, 1), (500, 1)])
def test_weights(count: int, weight: int) -> None:
    """B77: at least 1."""
    addresses = [endpoint(f"10.0.{n // 250}.{n % 250 + 1}") for n in range(count)]
    index = make_index(
        namespace("a"), service("a/db", "None"), endpoint_slice("a/db-1", *addresses, of="db", ports=(HTTP,))
    )
    answer = asking(index)("db.a", "SRV").answer[0]
    assert len(answer) == count
    assert {record.weight for record in answer} == {weight}


ODD_LABELS = [
    (b"_", b"_tcp", b"web", b"a", b"svc"),
    (b"_http", b"_", b"web", b"a", b"svc"),
    (b"_", b"_", b"web", b"a", b"svc"),
    (b"_", b"web", b"a", b"svc"),
    (b"\x00", b"web", b"a", b"svc"),
    (b".", b"web", b"a", b"svc"),
    (b"\\", b"\xff", b"web", b"a", b"svc"),
    (b"-", b"a", b"pod"),
    (b"1-2-3-4-5-6-7-8-9", b"a", b"pod"),
    (b"\xc3\xa9", b"a", b"pod"),
    (b"x",) * 120,
    (b"y" * 63,) * 3 + (b"z" * 42,),
]


@pytest.mark.parametrize("labels", ODD_LABELS, ids=repr)
def test_odd_names(labels: tuple[bytes, ...]) -> None:
    """B78: any name gets an answer, and the server does not mind."""
    ask = asking(make_index(namespace("a"), service("a/web", "10.96.0.1", ports=(port(80, "http"),))), "pods verified")
    question = b"".join(bytes((len(label),)) + label for label in (*labels, b"cluster", b"local")) + b"\0"
    for qtype in (1, 12, 16, 28, 33, 255):
        message = ask("", wire=b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + question + qtype.to_bytes(2, "big") + b"\0\1")
        assert message.rcode() in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN), summary(message)
        assert message.question[0].rdtype == qtype


def test_one_rcode_for_all_types_at_one_time() -> None:
    """B86: a name does not exist for A while it exists for AAAA."""
    index = make_index(namespace("a"), service("a/db", "None"))
    ask = asking(index)
    rng = random.Random(1)
    for _ in range(100):
        ready = [endpoint(address, host="h", ready=rng.random() < 0.5) for address in ("10.0.0.1", "10.0.0.2")]
        kind, other = rng.sample(["IPv4", "IPv6"], 2)
        items = ready if kind == "IPv4" else [endpoint("fd00::1", host="h", ready=rng.random() < 0.5)]
        index.sinks["EndpointSlice"].changed(endpoint_slice(f"a/db-{kind}", *items, of="db", kind=kind))
        if rng.random() < 0.3:
            index.sinks["EndpointSlice"].removed("a", f"db-{other}")
        for name in ("db.a", "h.db.a", "10-0-0-1.db.a"):
            rcodes = {ask(name, qtype).rcode() for qtype in ("A", "AAAA", "SRV", "MX")}
            assert len(rcodes) == 1


# Names outside the cluster, over real sockets: the whole server, and an upstream that we script.

CHAIN = [api_service(f"a/c{n}", external=f"c{n + 1}.a.svc.cluster.local") for n in range(1, 13)]
OUTWARD = [
    api_namespace("a"),
    api_service("a/web", "10.96.0.1"),
    api_service("a/inward", external="web.a.svc.cluster.local."),
    api_service("a/lost", external="nobody.a.svc.cluster.local"),
    api_service("a/outward", external="big.example.org"),
    api_service("a/nowhere", external="missing.example.org"),
    api_service("a/number", external="192.0.2.7"),
    api_service("a/c13", "10.96.0.13"),
    *CHAIN,
    api_slice("a/web-1", "10.0.0.1"),
]
MANY = 60


def example_org(asked: Asked) -> list[Send]:
    """`big` has sixty addresses, and the upstream cuts as a real one does; nothing else exists."""
    if not asked.name.lower().startswith("big."):
        return [Send(reply(asked, rcode="NXDOMAIN").to_wire())]
    full = reply(asked, *(f"@ 60 IN A 192.0.2.{n}" for n in range(MANY)))
    wire = full.to_wire(max_size=65535)
    if asked.proto == "tcp" or asked.message.payload >= len(wire):
        return [Send(wire)]
    return [Send(reply(asked, tc=True).to_wire())]


async def exchange(port: int, name: str, qtype: str = "A", *, tcp: bool = False, **edns: int | bool):
    """One question over a socket, by a client that does not retry."""
    query = dns.message.make_query(f"{name}.a.svc.cluster.local.", qtype, use_edns=bool(edns) or None, **edns)
    how = dns.asyncquery.tcp if tcp else dns.asyncquery.udp
    return await how(query, "127.0.0.1", timeout=5, port=port)


@pytest.fixture
async def outward(tmp_path: Path):
    """The port of a server over `OUTWARD`, and its upstream."""
    port = free_port()
    with ApiServer(OUTWARD) as api:
        async with ScriptedUpstream(example_org) as upstream:
            text = f".:{port} {{\n    kubernetes cluster.local {{\n        endpoint {api.url}\n    }}\n"
            with serving(tmp_path, f"{text}    forward . 127.0.0.1:{upstream.port}\n}}\n", port):
                yield port, upstream


async def test_external_names_that_point_inward(outward) -> None:
    """B55: the target's data comes along, or (as CoreDNS has it) nothing where the target does not exist."""
    port, upstream = outward
    for tcp in (False, True):
        found = await exchange(port, "inward", tcp=tcp)
        assert [dns.rdatatype.to_text(rrset.rdtype) for rrset in found.answer] == ["CNAME", "A"]
        assert outcome(await exchange(port, "inward", "AAAA", tcp=tcp)) == NODATA
        assert outcome(await exchange(port, "inward", "CNAME", tcp=tcp)) == "NOERROR CNAME -"
        assert outcome(await exchange(port, "lost", tcp=tcp)) == NODATA
        assert outcome(await exchange(port, "lost", "CNAME", tcp=tcp)) == "NOERROR CNAME -"
        assert outcome(await exchange(port, "nowhere", tcp=tcp)) == "NOERROR CNAME -"
    assert {asked.name for asked in upstream.seen} == {"missing.example.org."}


async def test_numbers_never_go_upstream(outward) -> None:
    """B57."""
    port, upstream = outward
    for qtype in ("A", "AAAA", "CNAME"):
        assert outcome(await exchange(port, "number", qtype)) == NXDOMAIN
    assert upstream.seen == []


async def test_what_was_cut_on_the_way_says_so(outward) -> None:
    """B58 and B80: TC where not all is there, and the client's EDNS size and DO bit go along."""
    port, upstream = outward
    small = await exchange(port, "outward")
    assert small.flags & dns.flags.TC
    assert len(small.to_wire()) <= 512
    middle = await exchange(port, "outward", payload=900)
    assert middle.flags & dns.flags.TC
    large = await exchange(port, "outward", payload=4096, want_dnssec=True)
    assert not large.flags & dns.flags.TC
    assert [len(rrset) for rrset in large.answer] == [1, MANY]
    assert upstream.seen[-1].message.ednsflags & dns.flags.DO
    assert upstream.seen[-1].message.payload == 4096
    whole = await exchange(port, "outward", tcp=True)
    assert [len(rrset) for rrset in whole.answer] == [1, MANY]


@pytest.mark.parametrize("links", range(1, 13))
async def test_chains_of_external_names(outward, links: int) -> None:
    """B81: the whole chain, or none of it: never half a chain."""
    port, _ = outward
    found = await exchange(port, f"c{13 - links}", tcp=True)
    types = [dns.rdatatype.to_text(rrset.rdtype) for rrset in found.answer]
    if links <= 10:
        assert types == ["CNAME"] * links + ["A"]
    else:
        assert types in (["CNAME"] * links + ["A"], [])
