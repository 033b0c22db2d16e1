"""DNS over TLS, HTTPS, HTTP/3, QUIC and gRPC by the real process: answers, what a reload keeps, how it ends."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import dns.asyncquery
import dns.message
import dns.query
import dns.rcode
import pytest

from support.process import ServerProcess, ask, free_port, get, serving
from support.secure import CA, KEYS, SERVER_NAME, trusting

SCHEMES = ("tls", "https", "quic", "https3", "grpc")
COREFILE = """
{labels} {{
    {more}
    tls {folder}/cert.pem {folder}/key.pem
    log
    errors
    acl refused.org {{
        block
    }}
    whoami
}}
.:{plain} {{
    {more}
    bind 127.0.0.1
    prometheus 127.0.0.1:{metrics}
    grpc . grpc://127.0.0.1:{grpc} {{
        tls {ca}
        tls_servername {name}
    }}
}}
"""


@dataclass
class World:
    """A server with a listener of each scheme on a port of its own, and how to ask each of them."""

    process: ServerProcess
    folder: Path
    ports: dict[str, int]

    def ask(self, how: str, name: str = "example.org.") -> dns.message.Message:
        """A question over one of the `HOW`."""
        query = dns.message.make_query(name, "A", id=0, use_edns=True, pad=128)
        return HOW[how](self, query)

    def reload(self) -> None:
        """Ask for a reload, and wait until it is done."""
        before = sum("Reloading complete" in line for line in self.process.lines)
        self.process.kill(signal.SIGUSR1)
        self.process.says("Reloading complete", before + 1)

    def url(self, scheme: str = "https") -> str:
        return f"https://{SERVER_NAME}:{self.ports[scheme]}/dns-query"


How = Callable[["World", dns.message.Message], dns.message.Message]


def _doh(version: dns.query.HTTPVersion, *, post: bool) -> How:
    def how(world: World, query: dns.message.Message) -> dns.message.Message:
        http3 = version == dns.query.HTTPVersion.HTTP_3
        asking = dns.asyncquery.https(
            query,
            world.url("https3" if http3 else "https"),
            verify=CA if http3 else trusting(("h2",) if version == dns.query.HTTPVersion.HTTP_2 else ()),
            timeout=5,
            post=post,
            http_version=version,
            bootstrap_address="127.0.0.1",
        )
        return asyncio.run(asking)

    return how


HOW: dict[str, How] = {
    "tls": lambda world, query: dns.query.tls(
        query, "127.0.0.1", port=world.ports["tls"], timeout=5, verify=CA, server_hostname=SERVER_NAME
    ),
    "quic": lambda world, query: asyncio.run(
        dns.asyncquery.quic(
            query, "127.0.0.1", port=world.ports["quic"], timeout=5, verify=CA, server_hostname=SERVER_NAME
        )
    ),
    "https get": _doh(dns.query.HTTPVersion.HTTP_2, post=False),
    "https post": _doh(dns.query.HTTPVersion.HTTP_2, post=True),
    "http/1.1": _doh(dns.query.HTTPVersion.HTTP_1, post=True),
    "http/3": _doh(dns.query.HTTPVersion.HTTP_3, post=True),
    # The plain listener forwards over gRPC.
    "grpc": lambda world, query: dns.query.tcp(query, "127.0.0.1", port=world.ports["plain"], timeout=5),
}


@contextmanager
def made(tmp_path: Path, more: str = "") -> Iterator[World]:
    """A world whose blocks have one more directive."""
    shutil.copy(KEYS / "server.pem", tmp_path / "cert.pem")
    shutil.copy(KEYS / "server.key", tmp_path / "key.pem")
    ports = {name: free_port() for name in (*SCHEMES, "plain", "metrics")}
    labels = " ".join(f"{scheme}://.:{ports[scheme]}" for scheme in SCHEMES)
    text = COREFILE.format(labels=labels, folder=tmp_path, ca=CA, name=SERVER_NAME, more=more, **ports)
    with serving(tmp_path, text, ports["plain"]) as process:
        yield World(process, tmp_path, ports)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with made(tmp_path) as world:
        yield world


@pytest.mark.parametrize("how", HOW)
def test_each(world: World, how: str) -> None:
    answer = world.ask(how)
    assert answer.rcode() == dns.rcode.NOERROR
    assert answer.additional[0][0].to_text() == "127.0.0.1"
    proto = "udp" if how in ("quic", "http/3") else "tcp"
    assert answer.additional[1].name.to_text() == f"_{proto}.example.org."
    world.process.says(f'"A IN example.org. {proto} ')
    if how != "grpc":
        assert len(answer.wire) % 468 == 0  # type: ignore[arg-type]
        assert world.ask(how, "x.refused.org.").rcode() == dns.rcode.REFUSED


def test_what_is_counted(world: World) -> None:
    for how in HOW:
        world.ask(how)
    lines = get(world.ports["metrics"], "/metrics").splitlines()
    for name, scheme, status, count in (
        ("https", "https", "200", 3),
        ("https3", "https3", "200", 1),
        ("quic", "quic", "0x0", 1),
    ):
        labels = f'server="{scheme}://:{world.ports[scheme]}",status="{status}"'
        assert f"coredns_dns_{name}_responses_total{{{labels}}} {count}" in lines
    assert f'coredns_grpc_requests_total{{to="127.0.0.1:{world.ports["grpc"]}"}} 1' in lines


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="worker processes need Linux")
def test_workers_serve_each(tmp_path: Path) -> None:
    """Whichever process a connection comes to, before and after a reload; what they count is added up."""
    with made(tmp_path, "multisocket 2") as world:
        for times in (4, 8):
            for how in HOW:
                for _ in range(4):
                    assert world.ask(how).rcode() == dns.rcode.NOERROR
            asked = f'coredns_grpc_requests_total{{to="127.0.0.1:{world.ports["grpc"]}"}} {times}'
            lines = get(world.ports["metrics"], "/metrics").splitlines()
            assert asked in lines
            labels = f'server="https://:{world.ports["https"]}",status="200"'
            assert f"coredns_dns_https_responses_total{{{labels}}} {3 * times}" in lines
            world.reload()
        assert world.process.stop() == 0


def test_a_reload_keeps_connections(world: World) -> None:
    query = dns.message.make_query("example.org.", "A")
    with (
        socket.create_connection(("127.0.0.1", world.ports["tls"])) as raw,
        trusting().wrap_socket(raw, server_hostname=SERVER_NAME) as tls,
    ):
        for _ in range(3):
            assert dns.query.tcp(query, "127.0.0.1", timeout=5, sock=tls).rcode() == dns.rcode.NOERROR
            world.reload()


@pytest.mark.parametrize("how", ["tls", "quic", "https post", "grpc"])
def test_no_query_is_lost_by_reloads(world: World, how: str) -> None:
    failed: list[Exception] = []
    asked = [0]
    stop = threading.Event()

    def keep_asking() -> None:
        while not stop.is_set():
            try:
                assert world.ask(how).rcode() == dns.rcode.NOERROR
            except Exception as exc:
                failed.append(exc)
            asked[0] += 1

    thread = threading.Thread(target=keep_asking)
    thread.start()
    try:
        while asked[0] < 8:
            world.reload()
    finally:
        stop.set()
        thread.join()
    assert failed == []


def certificate(port: int) -> str:
    """What a server shows over TLS."""
    return ssl.get_server_certificate(("127.0.0.1", port), timeout=5).strip()


@pytest.mark.parametrize("with_reload", [False, True])
def test_a_renewed_certificate_is_taken_up(world: World, with_reload: bool) -> None:
    old, new = ((KEYS / name).read_text().strip() for name in ("server.pem", "client.pem"))
    assert certificate(world.ports["tls"]) == certificate(world.ports["https"]) == old
    for source, target in (("client.pem", "cert.pem"), ("client.key", "key.pem")):
        shutil.copy(KEYS / source, world.folder / "next")
        (world.folder / "next").rename(world.folder / target)
    if with_reload:
        world.reload()
    assert certificate(world.ports["tls"]) == certificate(world.ports["https"]) == new


def test_a_reload_to_a_broken_certificate_changes_nothing(world: World) -> None:
    text = (world.folder / "Corefile").read_text()
    (world.folder / "Corefile").write_text(text.replace("key.pem", "none.pem"))
    world.process.kill(signal.SIGUSR1)
    world.process.says("could not load TLS cert: open ")
    for how in HOW:
        assert world.ask(how).rcode() == dns.rcode.NOERROR


def test_a_scheme_may_come_and_go(world: World) -> None:
    text = (world.folder / "Corefile").read_text()
    (world.folder / "Corefile").write_text(text.replace(f"tls://.:{world.ports['tls']}", ""))
    world.reload()
    with pytest.raises(ConnectionRefusedError):
        world.ask("tls")
    (world.folder / "Corefile").write_text(text)
    world.reload()
    assert world.ask("tls").rcode() == dns.rcode.NOERROR


def test_what_has_arrived_is_answered_before_the_end(tmp_path: Path) -> None:
    shutil.copy(KEYS / "server.pem", tmp_path / "cert.pem")
    shutil.copy(KEYS / "server.key", tmp_path / "key.pem")
    ports = {name: free_port() for name in (*SCHEMES, "plain", "metrics")}
    labels = " ".join(f"{scheme}://.:{ports[scheme]}" for scheme in SCHEMES)
    text = f"{labels} {{\n  tls cert.pem key.pem\n  log\n  erratic {{\n    delay 1 1s\n  }}\n}}\n"
    text += f".:{ports['plain']} {{\n  bind 127.0.0.1\n  whoami\n}}\n"
    answers: dict[str, dns.message.Message] = {}
    with serving(
        tmp_path,
        text.replace("cert.pem", f"{tmp_path}/cert.pem").replace("key.pem", f"{tmp_path}/key.pem"),
        ports["plain"],
    ) as process:
        world = World(process, tmp_path, ports)

        def keep(how: str) -> None:
            with suppress(Exception):
                answers[how] = world.ask(how)

        hows = ("tls", "quic", "https post", "http/1.1", "http/3")
        threads = [threading.Thread(target=keep, args=(how,)) for how in hows]
        for thread in threads:
            thread.start()
        time.sleep(0.7)  # every handshake is over, no answer is due
        assert answers == {}
        assert process.stop() == 0
        for thread in threads:
            thread.join()
    assert set(answers) == set(hows)


class TestClearText:
    """Without `tls` TLS is left to somebody in front."""

    @pytest.fixture
    def ports(self, tmp_path: Path) -> Iterator[dict[str, int]]:
        ports = {name: free_port() for name in ("tls", "https", "grpc", "plain")}
        text = "".join(f"{scheme}://.:{ports[scheme]} {{\n  whoami\n}}\n" for scheme in ("tls", "https", "grpc"))
        text += f".:{ports['plain']} {{\n  bind 127.0.0.1\n  grpc . 127.0.0.1:{ports['grpc']}\n}}\n"
        with serving(tmp_path, text, ports["plain"]):
            yield ports

    def test_each(self, ports: dict[str, int]) -> None:
        query = dns.message.make_query("example.org.", "A")
        url = f"http://127.0.0.1:{ports['https']}/dns-query"
        http = dns.query.https(query, url, timeout=5, http_version=dns.query.HTTPVersion.HTTP_1)
        stream = dns.query.tcp(query, "127.0.0.1", port=ports["tls"], timeout=5)
        grpc = ask(ports["plain"], tcp=True)
        assert [len(answer.additional) for answer in (http, stream, grpc)] == [2, 2, 2]


@pytest.mark.parametrize(
    ("corefile", "error"),
    [
        (
            "quic://.:{port} {{\n  whoami\n}}\n",
            "quic://:{port} has no certificate: expected `tls CERT KEY` in the block",
        ),
        (
            "tls://. https3://.:{port} {{\n  tls {cert} {key} {ca} {{\n    client_auth require\n  }}\n  whoami\n}}\n",
            "https3://:{port} cannot ask clients for certificates: expected `client_auth nocert` over QUIC",
        ),
    ],
)
def test_what_cannot_be(tmp_path: Path, corefile: str, error: str) -> None:
    port = free_port()
    words = {"port": port, "cert": KEYS / "server.pem", "key": KEYS / "server.key", "ca": CA}
    (tmp_path / "Corefile").write_text(corefile.format(**words))
    with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
        assert process.wait() == 1
        assert process.errors == [error.format(**words)]
