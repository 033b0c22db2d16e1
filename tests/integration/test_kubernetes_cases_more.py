"""More faults of cluster DNS servers that users reported in public: `Bnn` and `Snn` are numbers in the lists of cases.

Here are reverse names of several Services, search paths, memory, and what strangers can learn.
"""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.reversename
import dns.tsig
import dns.tsigkeyring
import dns.zone
import msgspec
import pytest

from support.apiobjects import api_namespace, api_pod, api_service, api_slice
from support.apiserver import ApiServer
from support.chain import make_request
from support.clusterblock import answers, block_of, messages
from support.followed import following
from support.objects import endpoint, endpoint_slice, make_index, namespace, pod, service
from support.process import free_port, serving
from support.upstream import Asked, ScriptedUpstream, Send, reply
from waypost.cluster.index import Index
from waypost.kube.listwatch import ENDPOINT_SLICES, SERVICES, ResourceDecoder


class TestReverseNames:
    @pytest.mark.parametrize("address", ["10.0.0.1", "fd00::1"])
    async def test_the_hostname_comes_first(self, address: str) -> None:
        """B73: then other names by Service."""
        index = make_index(
            *map(namespace, "ab"),
            service("a/aaa", "10.96.0.1"),
            service("a/zzz", "None"),
            service("b/bbb", "10.96.0.2"),
            endpoint_slice("a/aaa-1", endpoint(address), of="aaa"),
            endpoint_slice("b/bbb-1", endpoint(address), of="bbb"),
            endpoint_slice("a/zzz-1", endpoint(address, host="zzz-0"), of="zzz"),
        )
        label = ip_address(address).compressed.replace(".", "-").replace(":", "-")
        assert await answers(block_of(index), dns.reversename.from_address(address).to_text(), "PTR") == [
            "zzz-0.zzz.a.svc.cluster.local.",
            f"{label}.aaa.a.svc.cluster.local.",
            f"{label}.bbb.b.svc.cluster.local.",
        ]

    @pytest.mark.parametrize("pod_names", [False, True])
    async def test_of_names_with_a_hostname_the_headless_one_comes_first(self, pod_names: bool) -> None:
        """B73, with labels from pods too."""
        own = {"pod": "db-0"} if pod_names else {"host": "db-0"}
        index = make_index(
            namespace("a"),
            service("a/aaa", "10.96.0.1"),
            service("a/zzz", "None"),
            endpoint_slice("a/aaa-1", endpoint("10.0.0.1", **own), of="aaa"),  # type: ignore[arg-type]
            endpoint_slice("a/zzz-1", endpoint("10.0.0.1", **own), of="zzz"),  # type: ignore[arg-type]
            pod_names=pod_names,
        )
        found = await answers(block_of(index), "1.0.0.10.in-addr.arpa.", "PTR")
        assert found == ["db-0.zzz.a.svc.cluster.local.", "db-0.aaa.a.svc.cluster.local."]

    async def test_two_headless_services(self) -> None:
        """B74: nobody can tell which one governs the StatefulSet: both names, once each, in one order."""
        items = [
            namespace("a"),
            *(service(f"a/{name}", "None") for name in ("db", "all")),
            *(endpoint_slice(f"a/{name}-1", endpoint("10.0.0.1", host="db-0"), of=name) for name in ("db", "all")),
            endpoint_slice("a/db-2", endpoint("10.0.0.1", host="db-0"), of="db"),
        ]
        wanted = ["db-0.db.a.svc.cluster.local.", "db-0.all.a.svc.cluster.local."]
        for order in (items, items[::-1]):
            assert await answers(block_of(make_index(*order)), "1.0.0.10.in-addr.arpa.", "PTR") == wanted


def pods_of_one_address() -> list[dict]:
    return [
        *map(api_namespace, "abc"),
        api_pod("a/first", "10.2.0.1", phase="Succeeded"),
        api_pod("b/runs", "10.2.0.1"),
        api_pod("c/last", "10.2.0.1", phase="Failed"),
    ]


async def test_pods_that_have_ended_do_not_count() -> None:
    """B87: the search path is that of the pod that runs with the address."""
    with ApiServer(pods_of_one_address()) as server:
        async with following(server, "pods verified") as cluster:

            def path() -> list[bytes]:
                request = make_request("x.b.svc.cluster.local.", client=("10.2.0.1", 4000))
                return cluster.handler.autopath(request)[:1]

            assert path() == [b"\x01b\x03svc\x07cluster\x05local\x00"]
            ours, theirs = "10-2-0-1.b.pod", "10-2-0-1.a.pod"
            await cluster.becomes({ours: ["10.2.0.1"], theirs: ["NXDOMAIN"]})
            server.put("pods", api_pod("b/runs", "10.2.0.1", phase="Succeeded"))
            server.put("pods", api_pod("a/first", "10.2.0.1"))
            await cluster.becomes({ours: ["NXDOMAIN"], theirs: ["10.2.0.1"]})
            assert path() == [b"\x01a\x03svc\x07cluster\x05local\x00"]


def only_www(asked: Asked) -> list[Send]:
    if asked.name.lower() == "www.example.org.":
        return [Send(reply(asked, "@ 60 IN A 192.0.2.80").to_wire())]
    return [Send(reply(asked, rcode="NXDOMAIN").to_wire())]


POD_A, POD_B, STRANGER = "127.0.0.2", "127.0.0.3", "127.0.0.4"
PODS = [*map(api_namespace, "ab"), api_pod("a/one", POD_A), api_pod("b/two", POD_B)]


def ask_from(port: int, client: str, name: str) -> tuple[str, list[str]]:
    """rcode and types of the answer that this client gets, over UDP."""
    found = dns.query.udp(dns.message.make_query(name, "A"), "127.0.0.1", timeout=3, port=port, source=client)
    return dns.rcode.to_text(found.rcode()), [dns.rdatatype.to_text(rrset.rdtype) for rrset in found.answer]


@pytest.mark.parametrize("order", [(POD_A, POD_B, STRANGER), (STRANGER, POD_B, POD_A)], ids=["asker", "others"])
async def test_a_cache_does_not_mix_up_who_asks(tmp_path: Path, order: tuple[str, ...]) -> None:
    """B90: what one pod's search path leads to is not the answer for others, whoever comes first."""
    port = free_port()
    with ApiServer(PODS) as server:
        async with ScriptedUpstream(only_www) as upstream:
            corefile = (
                f".:{port} {{\n    autopath @kubernetes\n    cache 30\n    kubernetes cluster.local {{\n"
                f"        endpoint {server.url}\n        pods verified\n    }}\n    forward . {upstream.address}\n}}\n"
            )
            with serving(tmp_path, corefile, port):
                for client in order * 2:
                    name = "www.example.org.a.svc.cluster.local."
                    found = await asyncio.to_thread(ask_from, port, client, name)
                    assert found == (("NOERROR", ["CNAME", "A"]) if client == POD_A else ("NXDOMAIN", []))


def test_a_search_that_nobody_else_can_end(tmp_path: Path) -> None:
    """B90: without a plugin for names outside the cluster a miss is a miss, not a failure."""
    port = free_port()
    with ApiServer(PODS) as server:
        corefile = (
            f".:{port} {{\n    autopath @kubernetes\n    kubernetes cluster.local {{\n"
            f"        endpoint {server.url}\n        pods verified\n    }}\n}}\n"
        )
        with serving(tmp_path, corefile, port):
            assert ask_from(port, POD_A, "nobody.a.svc.cluster.local.") == ("NXDOMAIN", [])
            assert ask_from(port, POD_A, "www.example.org.") == ("SERVFAIL", [])


def test_memory_of_a_second_list() -> None:
    """B64, B65: a list is laid over what is there, page by page; it is never held a second time."""
    pages = {kind: list(pages_of(kind)) for kind in ("Service", "EndpointSlice")}
    index = Index(lambda: 0.0, kinds=pages)
    tracemalloc.start()
    try:
        read_all(index, pages)
        steady, first_peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        for _ in range(2):
            read_all(index, pages)
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index.services) == 1500
    assert after < 1.05 * steady
    assert peak < 1.3 * steady
    assert first_peak < 1.3 * steady


def pages_of(kind: str) -> Iterator[bytes]:
    """1,500 objects in pages of 100: Services, or slices with ten endpoints each."""
    for page in range(15):
        names = [f"service-{page * 100 + n}" for n in range(100)]
        if kind == "Service":
            items = [api_service(f"a/{name}", f"10.96.{page}.{n}") for n, name in enumerate(names)]
        else:
            items = [
                api_slice(f"a/{name}-x", *(f"10.{page}.{n}.{host}" for host in range(10)), of=name)
                for n, name in enumerate(names)
            ]
        yield msgspec.json.encode({"kind": f"{kind}List", "metadata": {"resourceVersion": "1"}, "items": items})


def read_all(index: Index, pages: dict[str, list[bytes]]) -> None:
    for resource in (SERVICES, ENDPOINT_SLICES):
        decoder, sink = ResourceDecoder(resource), index.sinks[resource.kind]  # type: ignore[var-annotated]
        sink.begin_list()
        for body in pages[resource.kind]:
            for item in decoder.page(body).items or ():
                sink.listed(item)
        sink.end_list()


# What strangers can learn or catch

TENANTS = make_index(
    *map(namespace, ("default", "com", "svc", "pod")),
    service("com/example", "10.96.6.6"),
    service("svc/web", "10.96.6.7"),
    service("default/web", "10.96.0.1"),
    pod("default/one", "10.2.0.1"),
)


class TestNamespacesLikeTopLevelDomains:
    """S05: a search list turns `example.com` into `example.com.svc.cluster.local`, Service `example` in `com`."""

    CAUGHT = ("example.com.svc.cluster.local.", "web.svc.svc.cluster.local.")

    async def test_they_are_namespaces_like_others(self) -> None:
        found = [await answers(block_of(TENANTS), name) for name in self.CAUGHT]
        assert found == [["10.96.6.6"], ["10.96.6.7"]]

    async def test_who_names_the_namespaces_is_safe(self) -> None:
        chain = block_of(TENANTS, options="namespaces default")
        assert [await answers(chain, name) for name in self.CAUGHT] == [["NXDOMAIN"], ["NXDOMAIN"]]
        assert await answers(chain, "web.default.svc.cluster.local.") == ["10.96.0.1"]

    async def test_a_name_with_its_dot_never_comes_here(self) -> None:
        assert await answers(block_of(TENANTS), "example.com.") == ["REFUSED"]


ENUMERATING = [
    ("cluster.local.", "NS"),
    ("svc.cluster.local.", "SRV"),
    ("default.svc.cluster.local.", "SRV"),
    ("default.svc.cluster.local.", "ANY"),
    ("*.default.svc.cluster.local.", "A"),
    ("*.*.svc.cluster.local.", "A"),
    ("any.any.svc.cluster.local.", "SRV"),
    ("*.default.pod.cluster.local.", "A"),
    ("0.96.10.in-addr.arpa.", "PTR"),
    ("cluster.local.", "AXFR"),
    ("cluster.local.", "IXFR"),
]


@pytest.mark.parametrize(("name", "qtype"), ENUMERATING)
async def test_no_question_lists_the_services(name: str, qtype: str) -> None:
    """S19: no wildcards, and no transfer without the transfer plugin."""
    (message,) = await messages(block_of(TENANTS, options="pods verified"), name, qtype)
    assert message.answer == []
    assert message.additional == []


MODES = [
    ("", ["NXDOMAIN"], ["NXDOMAIN"]),
    ("pods disabled", ["NXDOMAIN"], ["NXDOMAIN"]),
    ("pods insecure", ["198.51.100.1"], ["10.2.0.1"]),
    ("pods verified", ["NXDOMAIN"], ["10.2.0.1"]),
]


@pytest.mark.parametrize(("options", "anybody", "a_pod"), MODES)
async def test_names_of_pods(options: str, anybody: list[str], a_pod: list[str]) -> None:
    """S20: off by default; `verified` only repeats addresses that are a pod's, `insecure` any."""
    chain = block_of(TENANTS, options=options)
    assert await answers(chain, "198-51-100-1.default.pod.cluster.local.") == anybody
    assert await answers(chain, "10-2-0-1.default.pod.cluster.local.") == a_pod
