"""Faults of cluster zone transfers that users reported in public: `Bnn` is the number in the list of cases."""

from __future__ import annotations

from collections.abc import Iterator

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.tsigkeyring
import dns.zone
import pytest

from support.apiobjects import api_namespace, api_service, api_slice
from support.apiserver import ApiServer
from support.clusterblock import block_of, messages
from support.objects import endpoint, endpoint_slice, make_index, namespace, service
from support.process import ServerProcess, ask, free_port, serving
from waypost.cluster.index import Index

DUAL = ("10.3.0.1", "fd00:3::1")
CLUSTER = make_index(
    *map(namespace, "ak"),
    service("a/web", "10.96.0.1"),
    service("k/dns", "10.96.0.10", "fd00:96::10"),
    endpoint_slice("a/web-1", endpoint("10.0.0.1"), of="web"),
)
WITH_SERVICE = make_index(
    *map(namespace, "ak"),
    service("k/dns", "10.96.0.10", "fd00:96::10"),
    endpoint_slice("k/dns-1", endpoint(DUAL[0]), of="dns"),
    endpoint_slice("k/dns-2", endpoint(DUAL[1]), of="dns", kind="IPv6"),
)


@pytest.mark.parametrize(
    ("index", "own", "server", "glue"),
    [
        pytest.param(WITH_SERVICE, DUAL, "dns.k.svc", ["10.96.0.10", "fd00:96::10"], id="B108"),
        pytest.param(CLUSTER, DUAL, "ns.dns", list(DUAL), id="B111"),
        pytest.param(CLUSTER, DUAL[:1], "ns.dns", ["10.3.0.1"], id="one-family"),
    ],
)
async def test_a_secondary_can_load_the_zone(index: Index, own: tuple[str, ...], server: str, glue: list[str]) -> None:
    """B108: SOA first and last, a name server and its addresses. B111: of both families."""
    found = await messages(block_of(index, *own, transfer="to *"), "cluster.local.", "AXFR")
    records = [rrset for message in found for rrset in message.answer]
    assert records[0] == records[-1]
    assert [rrset.rdtype for rrset in records].count(dns.rdatatype.SOA) == 2
    zone = dns.zone.from_xfr(iter(found), relativize=False)
    apex = zone.find_rdataset("cluster.local.", "NS")
    assert [record.to_text() for record in apex] == [f"{server}.cluster.local."]
    node = zone.find_node(f"{server}.cluster.local.")
    types = (dns.rdatatype.A, dns.rdatatype.AAAA)
    assert sorted(r.to_text() for each in node.rdatasets if each.rdtype in types for r in each) == sorted(glue)


@pytest.mark.parametrize("qtype", ["AXFR", "IXFR"])
async def test_no_zone_is_made_up_for_reverse_names(qtype: str) -> None:
    """B109: nothing of the forward zone comes under a reverse name; the plugin has no reverse zone to give."""
    chain = block_of(CLUSTER, *DUAL, zones="cluster.local 96.10.in-addr.arpa", transfer="to *")
    wire = dns.message.make_query("96.10.in-addr.arpa.", qtype)
    if qtype == "IXFR":
        wire.authority.append(dns.rrset.from_text("96.10.in-addr.arpa.", 0, "IN", "SOA", ". . 1 0 0 0 0"))
    (message,) = await messages(chain, "", qtype, wire=wire.to_wire())
    assert (message.rcode(), message.answer) == (dns.rcode.REFUSED, [])


KEY = dns.tsigkeyring.from_text({"key.": "X28hl0BOfAL5G0jsmJWSacrwn7YRm2f6U5brnzwWEus="})
EXTERNAL = api_service("a/outside", "10.96.0.7") | {"status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}}}
TRANSFERRED = [
    api_namespace("a"),
    api_service("a/web", "10.96.0.1"),
    EXTERNAL,
    api_service("a/reverse", "192.0.2.9"),
    api_slice("a/web-1", "10.0.0.1"),
]
COREFILE = """cluster.local:{port} 2.0.192.in-addr.arpa:{port} ext.test:{port} {{
    bind 127.0.0.1 ::1
    tsig {{
        secret key. X28hl0BOfAL5G0jsmJWSacrwn7YRm2f6U5brnzwWEus=
    }}
    transfer {{
        to *
    }}
    kubernetes cluster.local 192.0.2.0/24 {{
        endpoint {url}
    }}
    k8s_external ext.test
}}
secret.test:{port} {{
    bind 127.0.0.1 ::1
    log
    transfer {{
        to 192.0.2.1
    }}
    kubernetes secret.test {{
        endpoint {url}
    }}
}}
"""


@pytest.fixture(scope="module")
def transferring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, ServerProcess]]:
    """A server of `TRANSFERRED` and its port."""
    port = free_port()
    with (
        ApiServer(TRANSFERRED) as server,
        serving(tmp_path_factory.mktemp("transfer"), COREFILE.format(port=port, url=server.url), port) as process,
    ):
        yield port, process


def axfr(port: int, zone: str, host: str = "127.0.0.1", **how: object) -> list[str]:
    """The records of a transfer: owner, type, data."""
    found = dns.query.xfr(host, zone, port=port, timeout=3, lifetime=3, relativize=False, **how)  # type: ignore[arg-type]
    return [
        f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)} {record.to_text()}"
        for message in found
        for rrset in message.answer
        for record in rrset
    ]


def test_many_transfers_over_two_families(transferring: tuple[int, ServerProcess]) -> None:
    """B111: the server has two addresses, none of them that of an endpoint."""
    port, process = transferring
    first = axfr(port, "cluster.local.")
    assert len(first) > 5
    for turn in range(100):
        assert axfr(port, "cluster.local.", ("127.0.0.1", "::1")[turn % 2]) == first
    assert process.alive


CASES = (
    "cluster.local.",
    "CLUSTER.LOCAL.",
    "Cluster.Local.",
    "cLUSTER.lOCAL.",
    "cluster.LOCAL.",
    "CLUSTER.local.",
    "cLuStEr.LoCaL.",
    "ClUsTeR.lOcAl.",
    "clusteR.local.",
    "cluster.locaL.",
)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_spellings_of_the_zone(transferring: tuple[int, ServerProcess], name: str, signed: bool) -> None:
    """B112: letter case does not count, signed or not."""
    port, _ = transferring
    key = {"keyring": KEY, "keyname": "key.", "keyalgorithm": dns.tsig.HMAC_SHA256} if signed else {}
    wanted = {record.lower() for record in axfr(port, "cluster.local.")}
    assert {record.lower() for record in axfr(port, name, **key)} == wanted
    query = dns.message.make_query(name, "IXFR")
    query.authority.append(dns.rrset.from_text(name, 0, "IN", "SOA", ". . 1 0 0 0 0"))
    if signed:
        query.use_tsig(KEY, "key.", algorithm=dns.tsig.HMAC_SHA256)
    found = dns.query.tcp(query, "127.0.0.1", timeout=3, port=port)
    assert found.answer[0].rdtype == dns.rdatatype.SOA
    assert found.had_tsig == signed


def test_reverse_zones_and_strangers_get_nothing(transferring: tuple[int, ServerProcess]) -> None:
    """B109 and B114: REFUSED, and the log says the same."""
    port, process = transferring
    for zone in ("2.0.192.in-addr.arpa.", "secret.test."):
        refused = ask(port, zone, "AXFR", tcp=True)
        assert (refused.rcode(), refused.answer) == (dns.rcode.REFUSED, [])
        assert len(refused.to_wire()) < 100
    assert ask(port, "9.2.0.192.in-addr.arpa.", "PTR").answer[0][0].to_text() == "reverse.a.svc.cluster.local."
    process.says('"AXFR IN secret.test. tcp ')
    (line,) = [line for line in process.lines if '"AXFR IN secret.test. tcp ' in line]
    rcode, _, size, _ = line.rpartition('" ')[2].split()
    assert rcode == "REFUSED"
    assert int(size) < 100
    assert not any("Outgoing transfer" in line and "secret.test." in line for line in process.lines)


def test_what_is_seen_outside_has_no_cluster_address(transferring: tuple[int, ServerProcess]) -> None:
    """B110: the zone of k8s_external holds external addresses alone."""
    port, _ = transferring
    records = axfr(port, "ext.test.")
    assert [record.split()[0::2] for record in records if record.split()[1] == "A"] == [
        ["outside.a.ext.test.", "203.0.113.7"]
    ]
    assert not any("10.96." in record or "cluster.local" in record for record in records)


@pytest.mark.parametrize("qtype", ["AXFR", "IXFR"])
@pytest.mark.parametrize("zone", ["cluster.local.", "ext.test.", "secret.test."])
def test_no_zone_over_datagrams(transferring: tuple[int, ServerProcess], zone: str, qtype: str) -> None:
    """B117: whoever asks over UDP may have forged its address."""
    port, _ = transferring
    query = dns.message.make_query(zone, qtype)
    if qtype == "IXFR":
        query.authority.append(dns.rrset.from_text(zone, 0, "IN", "SOA", ". . 1 0 0 0 0"))
    found = dns.query.udp(query, "127.0.0.1", timeout=3, port=port)
    assert (found.rcode(), found.answer, found.authority) == (dns.rcode.REFUSED, [], [])
