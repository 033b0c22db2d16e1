"""The real process behind a real API server: `KUBEBUILDER_ASSETS=FOLDER pytest tests/e2e`, else skipped."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import dns.asyncquery
import dns.exception
import dns.message
import dns.rcode
import dns.reversename
import pytest

from support.apiclient import ApiClient
from support.apiobjects import api_namespace, api_service, api_slice
from support.envtest import TOKEN, VARIABLE, ControlPlane, missing
from support.process import ServerProcess, free_port, serving

pytestmark = [
    pytest.mark.skipif(bool(missing(os.environ)), reason=missing(os.environ)),
    pytest.mark.timeout(240),
]
COREFILE = """.:{port} {{
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        startup_timeout 30s
    }}
}}
"""
LONG = 30.0
"""Seconds for what waits for an API server that comes back: pauses between tries grow to this."""
_numbers = count(1)


class Dns:
    """A `waypost` that runs, asked over UDP."""

    def __init__(self, process: ServerProcess, port: int) -> None:
        self.process = process
        self._port = port

    async def data(self, name: str, qtype: str = "A") -> list[str]:
        """The record data of an answer, sorted; the rcode or NODATA in place of none."""
        full = name if name.endswith(".") else f"{name}.svc.cluster.local."
        try:
            found = await dns.asyncquery.udp(
                dns.message.make_query(full, qtype), "127.0.0.1", timeout=0.5, port=self._port
            )
        except dns.exception.Timeout:
            return ["TIMEOUT"]
        records = sorted(record.to_text() for rrset in found.answer for record in rrset)
        return records or [dns.rcode.to_text(found.rcode()) if found.rcode() else "NODATA"]

    async def becomes(self, name: str, wanted: list[str], qtype: str = "A", seconds: float = 1.0) -> None:
        """Returns once the answer is this; fails after `seconds`."""
        found: list[str] = []
        try:
            async with asyncio.timeout(seconds):
                while found != wanted:
                    found = await self.data(name, qtype)
                    await asyncio.sleep(0.005)
        except TimeoutError:
            assert found == wanted, self.process.output


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(Path(os.environ[VARIABLE]), tmp_path_factory.mktemp("plane")) as running:
        yield running


@pytest.fixture(scope="module")
def resolver(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dns]:
    port = free_port()
    corefile = COREFILE.format(port=port, kubeconfig=plane.kubeconfig)
    with serving(tmp_path_factory.mktemp("waypost"), corefile, port) as process:
        yield Dns(process, port)


@pytest.fixture
async def api(plane: ControlPlane) -> AsyncIterator[ApiClient]:
    async with ApiClient(plane.api, TOKEN, plane.tls) as client:
        yield client


@pytest.fixture
async def space(api: ApiClient) -> str:
    """A new namespace: one is never deleted where no controller does it."""
    name = f"space-{os.getpid()}-{next(_numbers)}"
    await api.create(api_namespace(name))
    return name


def cluster_ip(where: str, **how: object) -> dict:
    """A ClusterIP Service whose address the API server is to choose."""
    made = api_service(where, "", **how)  # type: ignore[arg-type]
    del made["spec"]["clusterIP"], made["spec"]["clusterIPs"]
    return made


async def test_a_service(resolver: Dns, api: ApiClient, space: str) -> None:
    """A, SRV and PTR; a change and an end, each within a second."""
    assert await resolver.data(f"web.{space}") == ["NXDOMAIN"]
    web = await api.create(cluster_ip(f"{space}/web"))
    address, own = web["spec"]["clusterIP"], f"web.{space}.svc.cluster.local."
    await resolver.becomes(f"web.{space}", [address])
    assert await resolver.data(f"_http._tcp.web.{space}", "SRV") == [f"0 100 80 {own}"]
    assert await resolver.data(dns.reversename.from_address(address).to_text(), "PTR") == [own]
    await api.patch(web, {"spec": {"ports": [{"name": "alt", "port": 8080, "protocol": "TCP"}]}})
    await resolver.becomes(f"_alt._tcp.web.{space}", [f"0 100 8080 {own}"], "SRV")
    assert await resolver.data(f"_http._tcp.web.{space}", "SRV") == ["NXDOMAIN"]
    await api.delete(web)
    await resolver.becomes(f"web.{space}", ["NXDOMAIN"])
    assert await resolver.data(dns.reversename.from_address(address).to_text(), "PTR") == ["NXDOMAIN"]


async def test_a_headless_service(resolver: Dns, api: ApiClient, space: str) -> None:
    """Names of endpoints, both families, readiness."""
    await api.create(api_service(f"{space}/db"))
    four = await api.create(
        api_slice(f"{space}/db-1", {"addresses": ["10.1.0.1"], "hostname": "db-0"}, "10.1.0.2", of="db")
    )
    await api.create(api_slice(f"{space}/db-2", "fd00:1::1", of="db", kind="IPv6"))
    own = f"db.{space}.svc.cluster.local."
    await resolver.becomes(f"db.{space}", ["10.1.0.1", "10.1.0.2"])
    await resolver.becomes(f"db.{space}", ["fd00:1::1"], "AAAA")
    assert await resolver.data(f"db-0.db.{space}") == ["10.1.0.1"]
    assert await resolver.data(f"10-1-0-2.db.{space}") == ["10.1.0.2"]
    assert await resolver.data(f"fd00-1--1.db.{space}", "AAAA") == ["fd00:1::1"]
    assert await resolver.data(f"_http._tcp.db.{space}", "SRV") == [
        f"0 33 8080 10-1-0-2.{own}",
        f"0 33 8080 db-0.{own}",
        f"0 33 8080 fd00-1--1.{own}",
    ]
    assert await resolver.data("1.0.1.10.in-addr.arpa.", "PTR") == [f"db-0.{own}"]
    changed = [{"addresses": ["10.1.0.1"], "conditions": {"ready": False}}, {"addresses": ["10.1.0.3"]}]
    await api.patch(four, {"endpoints": changed})
    await resolver.becomes(f"db.{space}", ["10.1.0.3"])
    assert await resolver.data("1.0.1.10.in-addr.arpa.", "PTR") == ["NXDOMAIN"]
    await api.delete(four)
    await resolver.becomes(f"db.{space}", ["NODATA"])


async def test_an_external_name(resolver: Dns, api: ApiClient, space: str) -> None:
    await api.create(api_service(f"{space}/ext", external="www.example.org"))
    await resolver.becomes(f"ext.{space}", ["www.example.org."], "CNAME")


async def test_the_api_server_restarts(resolver: Dns, api: ApiClient, space: str, plane: ControlPlane) -> None:
    """What is known is served meanwhile; what comes later is seen, and so is what ends."""
    before = await api.create(cluster_ip(f"{space}/before"))
    address = before["spec"]["clusterIP"]
    await resolver.becomes(f"before.{space}", [address])
    plane.stop_api()
    for _ in range(20):
        assert await resolver.data(f"before.{space}") == [address]
        assert await resolver.data(f"after.{space}") == ["NXDOMAIN"]
    plane.start_api()
    after = await api.create(cluster_ip(f"{space}/after"))
    await api.delete(before)
    await resolver.becomes(f"after.{space}", [after["spec"]["clusterIP"]], seconds=LONG)
    await resolver.becomes(f"before.{space}", ["NXDOMAIN"], seconds=LONG)


async def test_history_is_compacted_away(resolver: Dns, api: ApiClient, space: str, plane: ControlPlane) -> None:
    """A watch from a version that is gone gets 410, and all is listed again: nothing missed, nothing left over.

    The process sleeps through all of it. The first restart ends its watches, so that no event waits in them; the
    second makes the API server forget what it has seen, and the compaction etcd.
    """
    gone = await api.create(cluster_ip(f"{space}/gone"))
    await resolver.becomes(f"gone.{space}", [gone["spec"]["clusterIP"]])
    seen = await api.version("Service")
    resolver.process.kill(signal.SIGSTOP)
    try:
        plane.restart_api()
        await api.delete(gone)
        for number in range(20):
            brief = await api.create(cluster_ip(f"{space}/brief-{number}"))
            await api.delete(brief)
        stays = await api.create(cluster_ip(f"{space}/stays"))
        plane.compact()
        plane.restart_api()
        assert await api.watch_code("Service", seen) == 410
    finally:
        resolver.process.kill(signal.SIGCONT)
    await resolver.becomes(f"stays.{space}", [stays["spec"]["clusterIP"]], seconds=LONG)
    await resolver.becomes(f"gone.{space}", ["NXDOMAIN"], seconds=LONG)
    assert await resolver.data(f"brief-19.{space}") == ["NXDOMAIN"]
    assert any("*v1.Service: " in line and "listing again" in line for line in resolver.process.lines)
