"""Answers of the Kubernetes DNS specification, as record text (reference table of the kubernetes plugin)."""

from __future__ import annotations

import dns.rdata
import dns.rdatatype
import pytest

from support.objects import endpoint, endpoint_slice, make_index, namespace, pod, port, service
from waypost.cluster.answer import Result, answer
from waypost.cluster.index import Index
from waypost.cluster.objects import EndpointPort
from waypost.cluster.policy import Policy
from waypost.wire import consts, names

ZONE = names.from_text("cluster.local.")
HTTP = EndpointPort(8080, "http", "TCP")


@pytest.fixture
def index() -> Index:
    return make_index(
        *map(namespace, ("shop", "empty", "podns")),
        service("shop/web", "10.96.1.1", ports=(port(80, "http"), port(81, "h2"))),
        endpoint_slice("shop/web-1", endpoint("10.0.0.1", host="ep1a"), of="web", ports=(HTTP,)),
        service("shop/dual", "10.96.1.4", "fd00:96::4", ports=(port(80, "http"),)),
        service("shop/bare", "10.96.1.5"),
        service("shop/dns", "10.96.0.10", ports=(port(53, "dns", "UDP"), port(53, "dns-tcp"), port(9153, "m"))),
        service("shop/db", "None", ports=(port(80, "http"),)),
        endpoint_slice(
            "shop/db-a",
            endpoint("10.0.0.2", pod="db-0"),
            endpoint("10.0.0.4", host="dup"),
            endpoint("10.0.0.5", host="dup"),
            endpoint("10.0.0.6", ready=False),
            endpoint("10.0.0.7", ready=None),
            of="db",
            ports=(HTTP,),
        ),
        endpoint_slice("shop/db-b", endpoint("10.0.0.2"), endpoint("10.0.0.22"), of="db", ports=(HTTP,)),
        endpoint_slice("shop/db-c", endpoint("fd00:a::1"), endpoint("fd00:a::"), of="db", ports=(HTTP,), kind="IPv6"),
        service("shop/none-ready", "None"),
        endpoint_slice("shop/none-ready-1", endpoint("10.0.0.9", ready=False), of="none-ready"),
        service("shop/ext", external="www.example.com."),
        service("shop/inward", external="web.shop.svc.cluster.local"),
        service("shop/lost", external="nobody.shop.svc.cluster.local"),
        service("shop/itself", external="itself.shop.svc.cluster.local"),
        service("shop/ping", external="pong.shop.svc.cluster.local"),
        service("shop/pong", external="ping.shop.svc.cluster.local"),
        service("shop/address", external="192.0.2.1"),
        service("shop/fqdn", "None"),
        endpoint_slice("shop/fqdn-1", endpoint("www.example.org"), of="fqdn", kind="FQDN"),
        service("hidden/web", "10.96.1.9"),
        pod("podns/one", "10.240.0.1"),
        pod("podns/six", "fd00:b::7"),
    )


def ask(index: Index, name: str, qtype: str, **policy: object) -> Result:
    qname = names.from_text(f"{name}.cluster.local." if name else "cluster.local.")
    return answer(index, Policy(**policy), ZONE, qname, dns.rdatatype.from_text(qtype))  # type: ignore[arg-type]


def texts(result: Result) -> list[str]:
    out = []
    for owner, rtype, rclass, ttl, rdata in result.answer:
        text = dns.rdata.from_wire(rclass, rtype, rdata, 0, len(rdata)).to_text()
        out.append(f"{names.to_text(owner).removesuffix('cluster.local.')} {ttl} {dns.rdatatype.to_text(rtype)} {text}")
    return out


def glue(result: Result) -> list[str]:
    return [names.to_text(record.owner).removesuffix(".cluster.local.") for record in result.additional]


N, X = "nodata", "nxdomain"


@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("", "A:N AAAA:N SRV:N TXT:X CNAME:N MX:N ANY:N DS:N"),
        ("svc", "A:N SRV:N TXT:X CNAME:N"),
        ("pod", "A:N TXT:X"),
        ("shop.svc", "A:N AAAA:N TXT:X MX:N"),
        ("nobody.svc", "A:X TXT:X MX:X"),
        ("hidden.svc", "A:X"),
        ("web.hidden.svc", "A:X"),
        ("foo", "A:X TXT:X"),
        ("dns-version", "A:X SRV:X TXT:1"),
        ("web.shop.svc", "A:1 AAAA:N SRV:2 TXT:N CNAME:N MX:N HTTPS:N"),
        ("nosuch.shop.svc", "A:X AAAA:X SRV:X TXT:X"),
        ("_http._tcp.web.shop.svc", "A:1 SRV:1 TXT:N"),
        ("http.tcp.web.shop.svc", "SRV:1"),
        ("_._tcp.web.shop.svc", "SRV:2"),
        ("_http._.web.shop.svc", "SRV:1"),
        ("_x._tcp.web.shop.svc", "A:X SRV:X"),
        ("_http._udp.web.shop.svc", "SRV:X"),
        ("_tcp.web.shop.svc", "SRV:X"),
        ("a.b.c.web.shop.svc", "A:X"),
        ("ep1a.web.shop.svc", "A:1 SRV:1"),
        ("10-0-0-1.web.shop.svc", "A:X"),
        ("bare.shop.svc", "A:1 SRV:N"),
        ("_x._tcp.bare.shop.svc", "SRV:X"),
        ("db.shop.svc", "A:5 AAAA:2 SRV:6 TXT:N"),
        ("10-0-0-2.db.shop.svc", "A:1"),
        ("10-0-0-4.db.shop.svc", "A:X"),
        ("10-0-0-6.db.shop.svc", "A:X"),
        ("db-0.db.shop.svc", "A:X"),
        ("fd00-a--0.db.shop.svc", "AAAA:1 A:N"),
        ("none-ready.shop.svc", "A:X SRV:X TXT:X"),
        ("lost.shop.svc", "A:N CNAME:1"),
        ("itself.shop.svc", "A:N CNAME:1"),
        ("ping.shop.svc", "A:N CNAME:1"),
        ("address.shop.svc", "A:X CNAME:X TXT:X"),
        ("x.ext.shop.svc", "A:X"),
        ("ext.shop.svc", "TXT:N SRV:N MX:N HTTPS:N CNAME:1"),
        ("inward.shop.svc", "A:2 AAAA:N"),
        ("podns.pod", "A:X"),
    ],
)
def test_outcomes(index: Index, name: str, outcomes: str) -> None:
    for outcome in outcomes.split():
        qtype, wanted = outcome.split(":")
        result = ask(index, name, qtype)
        got = "X" if not result.exists else str(len(result.answer)) if result.answer else "N"
        assert (name, qtype, got) == (name, qtype, wanted)


def test_records_of_a_service(index: Index) -> None:
    assert texts(ask(index, "web.shop.svc", "A", ttl=30)) == ["web.shop.svc. 30 A 10.96.1.1"]
    result = ask(index, "web.shop.svc", "SRV")
    assert texts(result) == [
        "web.shop.svc. 5 SRV 0 50 80 web.shop.svc.cluster.local.",
        "web.shop.svc. 5 SRV 0 50 81 web.shop.svc.cluster.local.",
    ]
    assert glue(result) == ["web.shop.svc"]


def test_weights_count_what_duplicates_hide(index: Index) -> None:
    assert [text.split()[4] for text in texts(ask(index, "dual.shop.svc", "SRV"))] == ["50"]
    assert [text.split()[4:6] for text in texts(ask(index, "dns.shop.svc", "SRV"))] == [["33", "53"], ["33", "9153"]]
    assert {text.split()[4] for text in texts(ask(index, "db.shop.svc", "SRV"))} == {str(100 // 8)}


def test_headless_targets_and_glue(index: Index) -> None:
    result = ask(index, "db.shop.svc", "SRV")
    targets = ["10-0-0-2", "dup", "10-0-0-7", "10-0-0-22", "fd00-a--1", "fd00-a--0"]
    assert [text.split()[-1] for text in texts(result)] == [f"{t}.db.shop.svc.cluster.local." for t in targets]
    assert len(result.additional) == 7  # the shared hostname has two addresses


def test_an_endpoint_of_a_service_has_the_slices_port(index: Index) -> None:
    assert texts(ask(index, "ep1a.web.shop.svc", "SRV")) == [
        "ep1a.web.shop.svc. 5 SRV 0 100 8080 ep1a.web.shop.svc.cluster.local."
    ]


def test_spelling_follows_the_question(index: Index) -> None:
    qname = names.from_text("WEB.shop.SVC.Cluster.LOCAL.")
    result = answer(index, Policy(), ZONE, qname, consts.TYPE_SRV)
    assert result.answer[0].owner == qname
    assert names.to_text(result.answer[0].rdata[6:]) == "web.shop.svc.Cluster.LOCAL."


def test_external_names(index: Index) -> None:
    result = ask(index, "ext.shop.svc", "A")
    assert texts(result) == ["ext.shop.svc. 5 CNAME www.example.com."]
    assert [names.to_text(target) for target in result.chase] == ["www.example.com."]
    assert texts(ask(index, "inward.shop.svc", "A")) == [
        "inward.shop.svc. 5 CNAME web.shop.svc.cluster.local.",
        "web.shop.svc. 5 A 10.96.1.1",
    ]
    fqdn = ask(index, "fqdn.shop.svc", "A")
    assert texts(fqdn) == ["fqdn.shop.svc. 5 CNAME www.example.org."]
    assert texts(ask(index, "www-example-org.fqdn.shop.svc", "A"))


@pytest.mark.parametrize(
    ("name", "mode", "outcome"),
    [
        ("1-2-3-4.podns.pod", "insecure", 1),
        ("1-2-3-4.podns.pod", "verified", None),
        ("1-2-3-4.nobody.pod", "insecure", None),
        ("256-2-3-4.podns.pod", "insecure", None),
        ("foo.podns.pod", "insecure", None),
        ("1--2-3-4.podns.pod", "insecure", 0),
        ("10-240-0-1.podns.pod", "verified", 1),
        ("x.10-240-0-1.podns.pod", "verified", 1),
        ("_x._y.10-240-0-1.podns.pod", "verified", 1),
        ("10-240-0-1.shop.pod", "verified", None),
        ("10-240-0-1.podns.pod", "disabled", None),
    ],
)
def test_pods(index: Index, name: str, mode: str, outcome: int | None) -> None:
    result = ask(index, name, "A", pods=mode)
    assert (len(result.answer) if result.exists else None) == outcome


def test_a_pod_is_found_by_the_canonical_spelling_only(index: Index) -> None:
    assert ask(index, "fd00-b--7.podns.pod", "AAAA", pods="verified").answer
    assert not ask(index, "fd00-b-0-0-0-0-0-7.podns.pod", "AAAA", pods="verified").exists


def test_options(index: Index) -> None:
    assert not ask(index, "web.shop.svc", "A", namespaces=frozenset((b"other",))).exists
    assert not ask(index, "bare.shop.svc", "A", ignore_empty_service=True).exists
    assert ask(index, "web.shop.svc", "A", ignore_empty_service=True).answer
    assert not ask(index, "db.shop.svc", "A", endpoints=False).exists
    assert not ask(index, "web.shop.svc", "A", endpoints=False, ignore_empty_service=True).exists


def test_what_an_answer_depends_on_is_named_even_when_there_is_none(index: Index) -> None:
    assert ask(index, "nosuch.shop.svc", "A").depends == (b"\x06nosuch\x04shop",)
    assert ask(index, "inward.shop.svc", "A").depends == (b"\x06inward\x04shop", b"\x03web\x04shop")
    assert ask(index, "10-240-0-9.podns.pod", "A", pods="verified").depends == (bytes((10, 240, 0, 9)),)


def test_a_target_too_long_for_a_name_is_left_out() -> None:
    zone = names.from_text(".".join(["z" * 60] * 3) + ".")
    long = "l" * 63
    slices = endpoint_slice("n/s", endpoint("10.0.0.1"), of=long, ports=(HTTP,))
    index = make_index(namespace("n"), service(f"n/{long}", "None"), slices)
    qname = names.from_text(f"{long}.n.svc.")[:-1] + zone
    result = answer(index, Policy(), zone, qname, consts.TYPE_SRV)
    assert result.exists
    assert result.answer == ()
