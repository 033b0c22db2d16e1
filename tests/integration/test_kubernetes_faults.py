"""The kubernetes plugin behind an API server that refuses, delays, lies and dies: what DNS clients get meanwhile.

The rule of all of it: what was known is served, what is not known is SERVFAIL and never NXDOMAIN, and once the server
is well again every answer is right, whatever was missed.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Iterator
from pathlib import Path

import dns.rcode
import pytest

from support.apiobjects import api_namespace, api_pod, api_service, api_slice
from support.apiserver import ApiServer
from support.followed import DNS, Followed, Time, following
from support.kube import eventually
from support.process import ServerProcess, ask, free_port, get
from waypost.kube.audit import AuditTiming
from waypost.kube.reflector import Timing
from waypost.wire import consts
from waypost.wire.reply import failure

TLS = Path(__file__).parents[1] / "data" / "kube-tls"
OBJECTS = [
    api_namespace("a"),
    api_service("a/web", "10.96.0.1"),
    api_service("a/old", "10.96.0.2"),
    api_service("a/db"),
    api_slice("a/db-1", {"addresses": ["10.0.0.1"], "hostname": "db-0"}, "10.0.0.2"),
]
AT_FIRST = {
    "web.a.svc": ["10.96.0.1"],
    "old.a.svc": ["10.96.0.2"],
    "db.a.svc": ["10.0.0.1", "10.0.0.2"],
    "db-0.db.a.svc": ["10.0.0.1"],
    "1.0.0.10.in-addr.arpa. PTR": ["db-0.db.a.svc.cluster.local."],
    "2.0.96.10.in-addr.arpa. PTR": ["old.a.svc.cluster.local."],
    "new.a.svc": ["NXDOMAIN"],
    "web.b.svc": ["NXDOMAIN"],
}
AT_LAST = {
    "web.a.svc": ["10.96.0.9"],
    "old.a.svc": ["NXDOMAIN"],
    "db.a.svc": ["10.0.0.2", "10.0.0.3"],
    "db-0.db.a.svc": ["10.0.0.3"],
    "1.0.0.10.in-addr.arpa. PTR": ["NXDOMAIN"],
    "3.0.0.10.in-addr.arpa. PTR": ["db-0.db.a.svc.cluster.local."],
    "2.0.96.10.in-addr.arpa. PTR": ["new.a.svc.cluster.local."],
    "new.a.svc": ["10.96.0.2"],
    "web.b.svc": ["10.96.1.1"],
}
AUDITED = Timing(first_pause=0.01, longest_pause=0.05, audit=AuditTiming(every=0.0, page_pause=0.0, catch_up=1.5))


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer(OBJECTS, bookmark_every=0.1) as running:
        yield running


def change(server: ApiServer) -> None:
    """Make the cluster of `AT_LAST` out of that of `AT_FIRST`."""
    server.put("services", api_service("a/web", "10.96.0.9"))
    server.delete("services", "a", "old")
    server.put("services", api_service("a/new", "10.96.0.2"))
    server.put("namespaces", api_namespace("b"))
    server.put("services", api_service("b/web", "10.96.1.1"))
    server.put("endpointslices", api_slice("a/db-1", {"addresses": ["10.0.0.3"], "hostname": "db-0"}, "10.0.0.2"))


def errors(followed: Followed) -> list[str]:
    return [line for line in followed.lines if line.startswith("[ERROR]")]


async def test_changes_without_a_fault(server: ApiServer) -> None:
    async with following(server) as cluster:
        await cluster.becomes(AT_FIRST)
        change(server)
        await cluster.becomes(AT_LAST)
        assert errors(cluster) == []


class TestWhileTheServerIsAway:
    """B69: the last known data is served through every outage."""

    @pytest.mark.parametrize("fault", [{"refuse": 503}, {"refuse": 429, "retry_after": 1}, {"delay": 0.3}], ids=str)
    async def test_the_last_state_is_served_and_then_the_new_one(self, server: ApiServer, fault: dict) -> None:
        async with following(server) as cluster:
            server.fault(**fault)
            server.cut()
            change(server)
            for _ in range(20):
                assert await cluster.rcode("web.a.svc") == "NOERROR"
                assert await cluster.rcode("missing.a.svc") == "NXDOMAIN"
                await asyncio.sleep(0.005)
            server.fault(refuse=0, delay=0.0, retry_after=0)
            await cluster.becomes(AT_LAST)

    async def test_an_hour(self, server: ApiServer) -> None:
        """Back with another state and no memory of the old versions: nothing stale, nothing missing."""
        time = Time()
        async with following(server, time=time, timing=Timing()) as cluster:
            await cluster.becomes(AT_FIRST)
            server.fault(refuse=503)
            server.cut()
            began = time.now
            await eventually(lambda: time.now - began >= 3600.0)
            await cluster.becomes(AT_FIRST)
            change(server)
            server.expire()
            server.fault(refuse=0)
            await cluster.becomes(AT_LAST)
            assert time.longest <= 60.0
            assert len(errors(cluster)) == 3, "one a kind, not one a try"
            assert sum("is followed again" in line for line in cluster.lines) == 3
            assert cluster.handler.ready()

    @pytest.mark.parametrize("silent", [True, False])
    async def test_another_server_altogether(self, server: ApiServer, silent: bool) -> None:
        """A cluster restored from a backup counts from the start again; its bookmarks may say so."""
        timing = Timing(first_pause=0.01, watch_seconds=(1, 1), grace=0.1, stale=0.2, short_watch=0.0)
        for _ in range(50):
            server.put("services", api_service("a/web", "10.96.0.1"))
        async with following(server, timing=timing) as cluster:
            await cluster.becomes(AT_FIRST)
            with server.store.changed:
                server.store.history.clear()
                server.store.version = 0
            change(server)
            server.fault(freeze=silent)
            server.cut()
            await eventually(lambda: sum("two watches were silent" in line for line in cluster.lines) == 3)
            server.fault(freeze=False)
            await cluster.becomes(AT_LAST)


class TestWatches:
    async def test_cut_again_and_again(self, server: ApiServer) -> None:
        async with following(server) as cluster:
            for number in range(20):
                server.cut()
                server.put("services", api_service(f"a/s{number}", "10.96.0.7"))
            await cluster.becomes({f"s{number}.a.svc": ["10.96.0.7"] for number in range(20)})
            assert not any("listing again" in line for line in cluster.lines)

    async def test_frozen(self, server: ApiServer) -> None:
        """B63: silence beyond the bookmarks; the watch is replaced."""
        async with following(server) as cluster:
            await asyncio.sleep(0.35)  # three bookmarks, which make the rule
            server.fault(freeze=True)
            change(server)
            await eventually(lambda: any("a silent watch is replaced" in line for line in cluster.lines))
            await cluster.becomes(AT_FIRST)
            server.fault(freeze=False)
            await cluster.becomes(AT_LAST)

    async def test_expired(self, server: ApiServer) -> None:
        async with following(server) as cluster:
            server.fault(refuse=500)
            server.cut()
            change(server)
            server.expire()
            server.fault(refuse=0)
            await cluster.becomes(AT_LAST)

    async def test_deleted_while_nobody_watched(self, server: ApiServer) -> None:
        """B62: twenty watches that end at once, then 410, then a list in which objects are gone or new."""
        async with following(server) as cluster:
            server.fault(close_at_once=20)
            server.cut()
            server.delete("services", "a", "web")
            server.put("services", api_service("a/web", "10.96.0.9"))
            server.expire()
            change(server)
            await cluster.becomes(AT_LAST)
            assert cluster.handler.ready()

    async def test_events_twice(self, server: ApiServer) -> None:
        async with following(server) as cluster:
            server.fault(twice=True)
            change(server)
            await cluster.becomes(AT_LAST)
            assert errors(cluster) == []

    @pytest.mark.parametrize(
        "garbage",
        [
            b"{",
            b"[]\n",
            b'{"type":"ADDED","object":null}\n',
            b"\xff\xfe\n",
            b'{"type":"ERROR","object":{"code":500}}\n',
        ],
    )
    async def test_nonsense(self, server: ApiServer, garbage: bytes) -> None:
        async with following(server) as cluster:
            server.fault(garbage=garbage)
            change(server)
            await cluster.becomes(AT_LAST)


class TestLostEvents:
    """B63: events that a live watch never sends."""

    async def test_a_window_is_lost(self, server: ApiServer) -> None:
        async with following(server, timing=AUDITED, time=(time := Time())) as cluster:
            server.fault(lose=6)
            change(server)
            time.now += 300.0
            await cluster.becomes(AT_LAST)
            await eventually(lambda: any("the watch lost changes of" in line for line in cluster.lines))

    async def test_out_of_order(self, server: ApiServer) -> None:
        """An older event behind a newer one is taken for a repetition, so its object is mended like a lost one."""
        async with following(server, timing=AUDITED) as cluster:
            server.fault(backwards=True)
            with server.store.changed:
                change(server)
            await cluster.becomes(AT_LAST)

    async def test_nothing_is_mended_where_nothing_was_lost(self, server: ApiServer) -> None:
        async with following(server, timing=AUDITED) as cluster:
            for number in range(30):
                server.put("services", api_service("a/web", f"10.96.1.{number}"))
                await asyncio.sleep(0.01)
            await cluster.becomes({"web.a.svc": ["10.96.1.29"]})
            change(server)
            await cluster.becomes(AT_LAST)
            assert errors(cluster) == []

    async def test_a_lagging_list_is_not_believed(self, server: ApiServer) -> None:
        async with following(server, timing=AUDITED) as cluster:
            server.fault(stale_lists=True)
            lists = sum("limit=" in request for request in server.requests)
            await eventually(lambda: sum("limit=" in request for request in server.requests) > lists + 5)
            await cluster.becomes(AT_FIRST)


class TestBigObjects:
    async def test_they_are_followed(self, server: ApiServer) -> None:
        """A slice of a thousand endpoints, a Service of a hundred ports, annotations of 250 kB."""
        many = [f"10.1.{n // 250}.{n % 250 + 1}" for n in range(1000)]
        ports = tuple((f"p{n}", 1000 + n) for n in range(100))
        async with following(server) as cluster:
            server.put("services", api_service("a/big"))
            server.put("endpointslices", api_slice("a/big-1", *many))
            server.put("services", api_service("a/wide", "10.96.0.5", ports=ports))
            server.put("services", api_service("a/noted", "10.96.0.6", annotations={"note": "é" * 250_000}))
            await cluster.becomes({"noted.a.svc": ["10.96.0.6"], "wide.a.svc": ["10.96.0.5"]})
            await eventually(lambda: len(cluster.source.index.endpoints.services_of(b"\x0a\x01\x03\xfa")) == 1)
            big = await cluster.ask("big.a.svc", datagram=False)
            assert len(big.answer[0]) == 1000
            cut = await cluster.ask("big.a.svc", bufsize=1232)
            assert cut.flags & dns.flags.TC
            assert len(cut.to_wire()) <= 1232
            wide = await cluster.ask("wide.a.svc", "SRV", datagram=False)
            assert sorted(record.port for record in wide.answer[0]) == list(range(1000, 1100))
            assert await cluster.data("_p7._tcp.wide.a.svc", "SRV") == ["0 100 1007 wide.a.svc.cluster.local."]
            assert errors(cluster) == []


class TestCredentials:
    async def test_another_token(self, server: ApiServer, tmp_path: Path) -> None:
        token, kubeconfig = tmp_path / "token", tmp_path / "config"
        token.write_text("old")
        kubeconfig.write_text(
            f"""{{"current-context": "c", "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}],
            "clusters": [{{"name": "c", "cluster": {{"server": "{server.url}"}}}}],
            "users": [{{"name": "u", "user": {{"tokenFile": "{token}"}}}}]}}"""
        )
        server.fault(token="old")
        async with following(server, access=f"kubeconfig {kubeconfig}") as cluster:
            await cluster.becomes(AT_FIRST)
            server.fault(token="new")
            server.cut()
            await eventually(lambda: len(errors(cluster)) == 3)
            change(server)
            await cluster.becomes(AT_FIRST)
            assert all(line.endswith(": Unauthorized") for line in errors(cluster))
            token.write_text("new")
            await cluster.becomes(AT_LAST)

    async def test_another_certificate(self, tmp_path: Path) -> None:
        """The API server shows a certificate of somebody else for a while; ours is replaced by half and then whole."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
        context.load_verify_locations(TLS / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        for name in ("client.pem", "client.key"):
            (tmp_path / name).write_bytes((TLS / name).read_bytes())
        kubeconfig = tmp_path / "config"
        with ApiServer(OBJECTS, tls=context) as server:
            kubeconfig.write_text(
                f"""{{"current-context": "c", "contexts": [{{"name": "c", "context": {{"cluster": "c", "user": "u"}}}}],
                "clusters": [{{"name": "c", "cluster": {{"server": "{server.url}", "certificate-authority":
                "{TLS / "ca.pem"}", "tls-server-name": "kubernetes.default.svc"}}}}],
                "users": [{{"name": "u", "user": {{"client-certificate": "{tmp_path / "client.pem"}",
                "client-key": "{tmp_path / "client.key"}"}}}}]}}"""
            )
            async with following(server, access=f"kubeconfig {kubeconfig}") as cluster:
                await cluster.becomes(AT_FIRST)
                context.load_cert_chain(TLS / "client.pem", TLS / "client.key")
                server.cut()
                await eventually(lambda: len(errors(cluster)) == 3)
                assert all("tls: failed to verify certificate: x509: " in line for line in errors(cluster))
                change(server)
                await cluster.becomes(AT_FIRST)
                (tmp_path / "client.key").write_bytes((TLS / "other.key").read_bytes())
                context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
                await cluster.becomes(AT_LAST)
                (tmp_path / "client.key").write_bytes((TLS / "client.key").read_bytes())
                os.utime(tmp_path / "client.key", (1, 1))
                server.cut()
                server.put("services", api_service("a/later", "10.96.0.8"))
                await cluster.becomes({"later.a.svc": ["10.96.0.8"]})


class TestBeforeTheSync:
    """Nobody can say that a name does not exist before everything was read."""

    async def test_unknown_names_fail(self, server: ApiServer) -> None:
        server.fault(refuse=503)
        async with following(server, patience=0.0) as cluster:
            assert any("starting server with unsynced Kubernetes API" in line for line in cluster.lines)
            assert not cluster.handler.ready()
            for name, qtype in (
                ("web.a.svc", "A"),
                ("web.a.svc", "SRV"),
                ("x.svc", "TXT"),
                ("1.0.0.10.in-addr.arpa.", "PTR"),
            ):
                rcode, flags, answer, authority, _ = await cluster.summary(name, qtype)
                assert (rcode, answer) == ("SERVFAIL", [])
                assert "AA" in flags.split()
                assert [text.split()[2] for text in authority] == ["SOA"]
            assert await cluster.rcode("cluster.local.", "SOA") == "NOERROR"
            server.fault(refuse=0)
            await cluster.becomes(AT_FIRST)
            assert cluster.handler.ready()

    async def test_positive_answers_come_as_soon_as_they_can(self, server: ApiServer) -> None:
        """RBAC lets Services and namespaces be read, but not slices (B71)."""
        server.fault(forbidden="endpointslices")
        async with following(server, patience=0.0) as cluster:
            await cluster.becomes({"web.a.svc": ["10.96.0.1"], "missing.a.svc": ["SERVFAIL"], "db.a.svc": ["SERVFAIL"]})
            assert not cluster.handler.ready()
            await eventually(lambda: errors(cluster))
            assert len(errors(cluster)) == 1
            assert "failed to list *v1.EndpointSlice: endpointslices is forbidden" in errors(cluster)[0]
            server.fault(forbidden="")
            await cluster.becomes(AT_FIRST)
            assert cluster.handler.ready()

    async def test_zones_that_fall_through_leak(self, server: ApiServer) -> None:
        """As in CoreDNS: what falls through goes on while nothing is known."""
        server.fault(refuse=503)
        async with following(server, "fallthrough in-addr.arpa ip6.arpa", patience=0.0) as cluster:
            cluster.block.following.reply = failure(consts.REFUSED)
            assert await cluster.rcode("web.a.svc") == "SERVFAIL"
            assert cluster.block.following.seen == []
            await cluster.ask("1.0.96.10.in-addr.arpa.", "PTR")
            assert len(cluster.block.following.seen) == 1

    async def test_once_synced_it_stays_so(self, server: ApiServer) -> None:
        async with following(server) as cluster:
            server.fault(refuse=503)
            server.cut()
            await eventually(lambda: errors(cluster))
            assert cluster.handler.ready()
            assert await cluster.rcode("missing.a.svc") == "NXDOMAIN"


class TestRealProcess:
    """The same over real sockets, with what `ready` says."""

    def test_ready(self, tmp_path: Path) -> None:
        port, ready = free_port(), free_port()
        with ApiServer(OBJECTS) as server:
            server.fault(refuse=503)
            (tmp_path / "Corefile").write_text(
                f".:{port} {{\n    ready 127.0.0.1:{ready}\n    kubernetes {DNS} {{\n"
                f"        endpoint {server.url}\n        startup_timeout 10ms\n    }}\n}}\n"
            )
            with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
                process.serving(port)
                assert status_of(ready) == 503
                assert ask(port, "web.a.svc.cluster.local.").rcode() == dns.rcode.SERVFAIL
                server.fault(refuse=0)
                process.until(lambda: status_of(ready) == 200, "ready")
                assert ask(port, "web.a.svc.cluster.local.").answer[0][0].to_text() == "10.96.0.1"
                assert ask(port, "missing.a.svc.cluster.local.", tcp=True).rcode() == dns.rcode.NXDOMAIN
                server.fault(refuse=503)
                server.cut()
                process.says("Failed to watch: failed to watch *v1.Service")
                assert status_of(ready) == 200
                assert ask(port, "web.a.svc.cluster.local.").rcode() == dns.rcode.NOERROR


def status_of(port: int) -> int:
    """The HTTP status of /ready."""
    try:
        get(port, "/ready")
    except OSError as exc:
        return getattr(exc, "code", 0)
    return 200


async def test_pods_are_followed_too(server: ApiServer) -> None:
    """B83: a pod that ends stays until it is deleted; then its address is another namespace's."""
    server.put("namespaces", api_namespace("b"))
    server.put("pods", api_pod("a/one", "10.2.0.1"))
    async with following(server, "pods verified") as cluster:
        ours, theirs = "10-2-0-1.a.pod", "10-2-0-1.b.pod"
        await cluster.becomes({ours: ["10.2.0.1"], theirs: ["NXDOMAIN"]})
        server.put("pods", api_pod("a/one", "10.2.0.1", deleted=True))
        server.put("services", api_service("a/mark", "10.96.0.7"))
        await cluster.becomes({"mark.a.svc": ["10.96.0.7"], ours: ["10.2.0.1"]})
        server.delete("pods", "a", "one")
        server.put("pods", api_pod("b/two", "10.2.0.1"))
        await cluster.becomes({ours: ["NXDOMAIN"], theirs: ["10.2.0.1"]})
