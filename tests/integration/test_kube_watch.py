"""The reflector against a simulated API server with faults, over real HTTP."""

from __future__ import annotations

import asyncio
import gzip
import os
import ssl
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from support.apiserver import ApiServer
from support.kube import MemoryLog, MemorySink, eventually
from waypost.kube.client import ApiClient
from waypost.kube.config import ClusterAccess
from waypost.kube.errors import ApiProtocolError, ApiStatusError, ApiUnreachable
from waypost.kube.limits import Limits
from waypost.kube.lines import LineSplitter
from waypost.kube.listwatch import PODS, SERVICES, Resource, ResourceDecoder, list_pages
from waypost.kube.reflector import Reflector, Timing

TLS = Path(__file__).parents[1] / "data" / "kube-tls"
FAST = Timing(first_pause=0.01, longest_pause=0.05, initial_silence=1.0, short_watch=0.0)
UNHURRIED = Limits(qps=1e6, burst=1000)


def service(name: str, ip: str = "10.96.0.1", **labels: str) -> dict:
    return {
        "kind": "Service",
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "spec": {"clusterIP": ip, "clusterIPs": [ip], "ports": [{"port": 80}]},
    }


@pytest.fixture
def server():
    with ApiServer([service("a"), service("b")]) as running:
        yield running


class Follower:
    """A running reflector with all that belongs to it."""

    def __init__(self, client: ApiClient, timing: Timing, resource: Resource = SERVICES, **options) -> None:
        self.sink, self.log = MemorySink(), MemoryLog()
        self.reflector = Reflector(resource, client, self.sink, log=self.log, timing=timing, **options)
        self.counters = self.reflector.counters

    async def sees(self, *names: str) -> None:
        await eventually(lambda: self.sink.names() == set(names))


@asynccontextmanager
async def connect(url: str, **access):
    client = ApiClient(ClusterAccess(url, **access), user_agent="test/1", limits=UNHURRIED)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def follow(server: ApiServer, timing: Timing = FAST, *, access: dict | None = None, **options):
    async with connect(server.url, **(access or {})) as client:
        follower = Follower(client, timing, **options)
        task = asyncio.create_task(follower.reflector.run())
        try:
            yield follower
        finally:
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task


async def test_initial_events_then_changes(server):
    async with follow(server) as f:
        await f.reflector.wait_synced()
        assert f.sink.names() == {"a", "b"}
        server.put("services", service("c"))
        await f.sees("a", "b", "c")
        server.put("services", service("c", "10.96.0.9"))
        await eventually(lambda: f.sink.objects["ns", "c"].spec.cluster_ips == ["10.96.0.9"])
        server.delete("services", "ns", "a")
        await f.sees("b", "c")
    assert len(server.requests) == 1
    assert "sendInitialEvents=true" in server.requests[0]
    assert f.sink.calls == ["begin", "end", "changed c", "changed c", "removed a"]
    assert not f.log.errors


async def test_list_where_initial_events_are_refused(server):
    server.fault(no_initial_events=True)
    async with follow(server) as f:
        await f.reflector.wait_synced()
        server.put("services", service("c"))
        await f.sees("a", "b", "c")
    assert ["limit=500" in request for request in server.requests] == [False, True, False]
    assert f.counters.errors == 0
    assert "RequestWatchProgress" in f.log.infos[0]


async def test_a_cut_watch_goes_on_without_a_list(server):
    async with follow(server) as f:
        await f.reflector.wait_synced()
        for name in "cdef":
            server.cut()
            server.put("services", service(name))
            await eventually(lambda name=name: name in f.sink.names())
    assert f.sink.calls.count("begin") == 1
    assert f.counters.lists == 1


async def test_deleted_while_expired_is_gone_after_the_new_list(server):
    async with follow(server) as f:
        await f.reflector.wait_synced()
        server.fault(refuse=503)
        server.cut()
        await eventually(lambda: f.counters.errors)
        assert f.sink.names() == {"a", "b"}
        server.delete("services", "ns", "a")
        server.put("services", service("c"))
        server.expire()
        server.fault(refuse=0)
        await f.sees("b", "c")
    assert f.counters.lists == 2
    assert f.sink.calls.count("end") == 2


async def test_refused_while_running_keeps_the_state_and_is_logged_once(server):
    async with follow(server) as f:
        await f.reflector.wait_synced()
        server.fault(refuse=503)
        server.cut()
        await eventually(lambda: f.counters.errors >= 4)
        assert f.sink.names() == {"a", "b"}
        server.fault(refuse=0)
        server.put("services", service("c"))
        await f.sees("a", "b", "c")
        assert f.log.errors == ["Failed to watch: failed to watch *v1.Service: refused on request"]
        assert f.log.infos == ["*v1.Service is followed again"]
    assert f.counters.lists == 1


async def test_nobody_listens():
    with ApiServer() as gone:
        url = gone.url
    async with connect(url) as client:
        follower = Follower(client, FAST, initial_events=False)
        task = asyncio.create_task(follower.reflector.run())
        await eventually(lambda: follower.counters.errors >= 3)
        task.cancel()
    address = url.removeprefix("http://")
    cause = f'Get "{url}/api/v1/services?limit=500": dial tcp {address}: connect: connection refused'
    assert follower.log.errors == [f"Failed to watch: failed to list *v1.Service: {cause}"]
    assert follower.sink.calls == []
    assert not follower.reflector.synced


async def test_a_frozen_watch_is_replaced(server):
    server.store.bookmark_every = 0.02
    timing = Timing(first_pause=0.01, stale=0.2, bookmark_gap=0.2)
    async with follow(server, timing) as f:
        await f.reflector.wait_synced()
        await eventually(lambda: f.counters.events >= 5)
        server.fault(freeze=True)
        server.put("services", service("c"))
        await eventually(lambda: f.counters.stale)
        assert f.sink.names() == {"a", "b"}
        server.fault(freeze=False)
        await f.sees("a", "b", "c")


async def test_slow_answers_are_waited_for(server):
    server.fault(delay=0.2)
    async with follow(server, initial_events=False) as f:
        await f.sees("a", "b")
    assert f.counters.errors == 0


async def test_watches_that_end_at_once(server):
    async with follow(server, Timing(first_pause=0.001, longest_pause=0.002)) as f:
        await f.reflector.wait_synced()
        server.fault(close_at_once=20)
        server.cut()
        server.delete("services", "ns", "a")
        server.put("services", service("c"))
        await f.sees("b", "c")
        await eventually(lambda: f.counters.errors >= 20)
    assert f.counters.lists == 1
    assert len(f.log.errors) == 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"{not json\n",
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"99"}}}\n',
        b'{"type":"WHATEVER","object":{}}\n',
        b'{"type":"ADDED","object":{"kind":"Service","metadata":{"resourceVersion":"99"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Service","metadata":{"name":"x","resourceVersion":"abc"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Service","metadata":{"name":7}}}\n',
        b'{"type":"ADDED","object":{"kind":"Service","metadata":{"name":"\xff\xfe","resourceVersion":"9"}}}\n',
        b"[" * 100_000 + b"\n",
        b"<html>not the API</html>\n",
    ],
    ids=lambda garbage: garbage[:40].decode(errors="replace"),
)
async def test_nonsense_in_a_watch_leads_to_a_new_list(server, garbage):
    async with follow(server) as f:
        await f.reflector.wait_synced()
        server.fault(garbage=garbage)
        await eventually(lambda: f.counters.lists == 2)
        server.put("services", service("c"))
        await f.sees("a", "b", "c")
        assert f.counters.errors == 1
        assert f.log.errors[0].startswith("Failed to watch: failed to watch *v1.Service: ")


@pytest.mark.parametrize("body", [b" ", b"null", b"<html/>", b'{"kind":"PodList","metadata":{"resourceVersion":"1"}}'])
async def test_nonsense_as_a_list_is_asked_for_again(server, body):
    server.fault(body=body)
    async with follow(server, initial_events=False) as f:
        await f.sees("a", "b")
        assert f.counters.errors == 1
        assert f.log.errors[0].startswith("Failed to watch: failed to list *v1.Service: expected a ServiceList")


async def test_pages(server, monkeypatch):
    monkeypatch.setattr("waypost.kube.listwatch.PAGE_LIMITS", (2, 2, 0))
    for name in "cde":
        server.put("services", service(name))
    async with follow(server, initial_events=False) as f:
        await f.sees(*"abcde")
    assert sum("continue=" in request for request in server.requests) == 2
    assert f.sink.calls[:2] == ["begin", "end"]


@pytest.mark.parametrize(("expired", "requests"), [(1, 5), (2, 5)])
async def test_an_expired_continue_token_starts_the_list_again(server, monkeypatch, expired, requests):
    monkeypatch.setattr("waypost.kube.listwatch.PAGE_LIMITS", (2, 2, 0))
    for name in "cde":
        server.put("services", service(name))
    server.fault(expire_continue=expired)
    async with connect(server.url) as client:
        pages = [page async for page in list_pages(client, SERVICES, ResourceDecoder(SERVICES))]
    assert len(server.requests) == requests
    starts = [number for number, page in enumerate(pages) if page.first]
    assert starts == list(range(expired + 1))
    assert [item.metadata.name for page in pages[starts[-1] :] for item in page.items] == list("abcde")


async def test_a_new_token_is_taken_up_after_401(server, tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")
    server.fault(token="old")
    async with follow(server, access={"token_file": str(token)}) as f:
        await f.reflector.wait_synced()
        server.fault(token="new")
        server.cut()
        await eventually(lambda: f.counters.errors >= 2)
        assert f.log.errors == ["Failed to watch: failed to watch *v1.Service: Unauthorized"]
        token.write_text("new\n")
        server.put("services", service("c"))
        await f.sees("a", "b", "c")
    assert f.counters.lists == 1


async def test_a_refused_token_is_read_anew_within_the_request(server, tmp_path):
    token = tmp_path / "token"
    for content in ("old", "new"):
        token.write_text(content)
        os.utime(token, (1, 1))
        server.fault(token=content)
        if content == "old":
            client = ApiClient(ClusterAccess(server.url, token_file=str(token)), user_agent="test/1")
        assert b"ServiceList" in await client.get_json_bytes(SERVICES.path, {})
    await client.close()


async def test_selectors_are_sent_and_leaving_them_removes(server):
    selected = Resource("Service", SERVICES.path, SERVICES.item, label_selector="app=x")
    server.put("services", service("c", app="x"))
    async with follow(server, resource=selected) as f:
        await f.sees("c")
        server.put("services", service("c", app="y"))
        await f.sees()


async def test_finished_pods_are_not_listed():
    pods = [
        {"kind": "Pod", "metadata": {"name": phase, "namespace": "ns"}, "status": {"phase": phase, "podIP": "10.0.0.1"}}
        for phase in ("Running", "Succeeded", "Failed", "Pending")
    ]
    with ApiServer(pods) as server:
        async with follow(server, resource=PODS) as f:
            await f.sees("Running", "Pending")


async def test_retry_after_is_carried():
    with ApiServer() as server:
        server.fault(refuse=429, retry_after=7)
        async with connect(server.url) as client:
            with pytest.raises(ApiStatusError) as caught:
                await client.get_json_bytes("/api/v1/services", {})
    assert (caught.value.code, caught.value.retry_after) == (429, 7.0)


async def test_max_inflight_bounds_lists_but_not_watches(server):
    server.fault(delay=0.02)
    limits = Limits(qps=1e6, burst=1000, max_inflight=1)
    client = ApiClient(ClusterAccess(server.url), user_agent="test/1", limits=limits)
    busy = []
    measure = client._send

    async def send(*args):
        busy.append(1)
        try:
            assert len(busy) == 1
            return await measure(*args)
        finally:
            busy.pop()

    client._send = send
    watching = {"watch": "true", "resourceVersion": "2"}
    async with client.stream_lines(SERVICES.path, watching), client.stream_lines(SERVICES.path, watching):
        await asyncio.gather(*(client.get_json_bytes(SERVICES.path, {}) for _ in range(5)))
    await client.close()


async def lines_of(client: ApiClient, seen: list[bytes] | None = None) -> None:
    """Reads a stream to its end, into `seen`."""
    async with client.stream_lines("/", {}) as lines:
        async for line in lines:
            if seen is not None:
                seen.append(line)


class OneAnswer(BaseHTTPRequestHandler):
    """Writes `answer` to every connection, and closes it."""

    answer = b""
    seen: list[dict[str, str]]

    def do_GET(self) -> None:
        self.seen.append(dict(self.headers))
        self.wfile.write(self.answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def raw_server():
    servers = []

    def start(answer: bytes) -> tuple[str, list[dict[str, str]]]:
        handler = type("Bound", (OneAnswer,), {"answer": answer, "seen": []})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", handler.seen

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


async def test_compressed_lists(raw_server):
    body = gzip.compress(b'{"kind":"ServiceList","metadata":{"resourceVersion":"5"},"items":null}')
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    url, seen = raw_server(head % len(body) + body)
    async with connect(url, username="u", password="p") as client:
        pages = [page async for page in list_pages(client, SERVICES, ResourceDecoder(SERVICES))]
    assert pages == [([], 5, True)]
    assert seen[0]["Accept-Encoding"] == "gzip"
    assert seen[0]["User-Agent"] == "test/1"
    assert seen[0]["Authorization"] == "Basic dTpw"


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (b"", ApiUnreachable, "EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", ApiUnreachable, "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", ApiUnreachable, "^Get "),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ApiUnreachable, "^Get "),
        (b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n", ApiStatusError, "302"),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc", ApiUnreachable, "^Get "),
    ],
)
async def test_broken_http(raw_server, answer, error, text):
    url, _ = raw_server(answer)
    async with connect(url) as client:
        with pytest.raises(error, match=text):
            await client.get_json_bytes("/api/v1/services", {})


async def test_an_endless_line_is_given_up(raw_server, monkeypatch):
    monkeypatch.setattr("waypost.kube.client.LineSplitter", lambda: LineSplitter(1000))
    url, _ = raw_server(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100_000)
    async with connect(url) as client:
        with pytest.raises(ApiProtocolError, match="more than 1000 bytes"):
            await lines_of(client)


async def test_an_endless_body_is_given_up(raw_server, monkeypatch):
    monkeypatch.setattr("waypost.kube.client.MAX_BODY", 1000)
    url, _ = raw_server(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 100_000)
    async with connect(url) as client:
        with pytest.raises(ApiProtocolError, match="more than 1000 bytes"):
            await client.get_json_bytes("/", {})


async def test_a_line_cut_in_the_middle_is_a_lost_connection(raw_server):
    url, _ = raw_server(b'HTTP/1.1 200 OK\r\n\r\n{"type":"ADDED"}\n{"type":"BOOK')
    seen: list[bytes] = []
    async with connect(url) as client:
        with pytest.raises(ApiUnreachable, match="unexpected EOF"):
            await lines_of(client, seen)
    assert seen == [b'{"type":"ADDED"}']


@pytest.fixture
def tls_server():
    """Serves 200 over TLS to those with a certificate of the test CA."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    context.load_verify_locations(TLS / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    handler = type("Bound", (OneAnswer,), {"answer": answer, "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


SECURE = {
    "ca_data": (TLS / "ca.pem").read_bytes(),
    "cert_data": (TLS / "client.pem").read_bytes(),
    "key_data": (TLS / "client.key").read_bytes(),
    "tls_server_name": "kubernetes.default.svc",
}


async def test_tls_with_a_client_certificate_and_a_server_name(tls_server):
    async with connect(tls_server, **SECURE) as client:
        assert await client.get_json_bytes("/", {}) == b"ok"


@pytest.mark.parametrize(
    "wrong", [{"tls_server_name": None}, {"ca_data": (TLS / "client.pem").read_bytes()}], ids=["name", "issuer"]
)
async def test_tls_that_does_not_verify(tls_server, wrong):
    async with connect(tls_server, **{**SECURE, **wrong}) as client:
        with pytest.raises(ApiUnreachable, match="tls: failed to verify certificate: x509: "):
            await client.get_json_bytes("/", {})


async def test_tls_unverified_on_request(tls_server):
    async with connect(tls_server, **{**SECURE, "ca_data": None, "insecure_skip_tls_verify": True}) as client:
        assert await client.get_json_bytes("/", {}) == b"ok"
