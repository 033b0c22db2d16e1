"""PROXY headers in front of real sockets: UDP, TCP and TLS, and what plugins then see as the client."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from pathlib import Path

import dns.message
import pytest

from support.listening import World, numbers, query, stream
from support.load import framed, read_message
from support.process import free_port, get, serving
from support.proxying import local, v1, v2
from support.tree import ROOT
from waypost.dispatch.proxying import USE, ProxyPolicy
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.sockets import open_socket
from waypost.listeners.tcp import TcpListener
from waypost.listeners.terms import Terms

KEYS = ROOT / "tests/data/kube-tls"
COREFILE = """\
.:{port} {{
    proxyproto {{
        {options}
    }}
    prometheus 127.0.0.1:{metrics}
    acl {{
        block net 203.0.113.0/24
    }}
    whoami
}}
"""
QUESTION = dns.message.make_query("example.org.", "A")


def seen(wire: bytes) -> str:
    """The client as whoami sees it, or the rcode."""
    message = dns.message.from_wire(wire)
    if message.rcode():
        return dns.rcode.to_text(message.rcode())
    address, port = message.additional
    return f"{address[0].to_text()} {port[0].port}"


def over_udp(sock: socket.socket, header: bytes) -> str:
    sock.send(header + QUESTION.to_wire())
    return seen(sock.recv(512))


def over_tcp(port: int, header: bytes, host: str = "127.0.0.1") -> str:
    with socket.create_connection((host, port), 2) as sock:
        sock.sendall(header + framed(QUESTION.to_wire()))
        return seen(read_message(sock))


def connected(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.connect(("127.0.0.1", port))
    return sock


def text(port: int, metrics: int, options: str) -> str:
    return COREFILE.format(port=port, metrics=metrics, options=options)


def test_a_proxy_that_is_heard(tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    with serving(tmp_path, text(port, metrics, "allow 127.0.0.0/8"), port), connected(port) as udp:
        for n in range(3):  # over and over, from memory, too
            assert over_udp(udp, v2("192.0.2.7", 1234 + n, datagram=True)) == f"192.0.2.7 {1234 + n}"
        assert over_udp(udp, v2("2001:db8::7", 1234, datagram=True)) == "2001:db8::7 1234"
        assert over_udp(udp, local()) == f"127.0.0.1 {udp.getsockname()[1]}"
        assert over_udp(udp, v2("203.0.113.7", 1234, datagram=True)) == "REFUSED", "acl sees the client"
        assert over_tcp(port, v1("192.0.2.7", 1234)) == "192.0.2.7 1234"
        assert over_tcp(port, v2("2001:db8::7", 1234, datagram=False)) == "2001:db8::7 1234"
        assert over_tcp(port, v1("203.0.113.7", 1234)) == "REFUSED"
        assert over_tcp(port, v1("192.0.2.7", 1234), "::1").startswith("::1 "), "nobody said so of this peer"
        for header in (v1("192.0.2.7", 1234), v2("192.0.2.7", 1234, datagram=False)):
            udp.send(header + QUESTION.to_wire())
        with pytest.raises(EOFError):
            over_tcp(port, b"PROXY NONSENSE\r\n")
        assert 'waypost_dropped_packets_total{reason="proxyproto"} 3' in get(metrics, "/metrics")


def test_sessions_and_a_reload(tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    corefile = text(port, metrics, "udp_session_tracking 60s")
    with serving(tmp_path, corefile, port) as process, connected(port) as udp:
        udp.send(v2("192.0.2.7", 1234, datagram=True))
        assert over_udp(udp, b"") == "192.0.2.7 1234"
        process.kill(signal.SIGUSR1)
        process.says("Reloading complete")
        assert over_udp(udp, b"") == "192.0.2.7 1234"
        with connected(port) as other:
            assert over_udp(other, b"").startswith("127.0.0.1 ")
        assert process.stop() == 0


async def test_a_header_before_tls() -> None:
    world = World()
    world.server.proxying = ProxyPolicy(default=USE)
    sock = open_socket(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", "0")
    port = sock.getsockname()[1]
    listener = TcpListener(sock, world.registry)
    await listener.serve(world.server, Terms(tls=TlsSettings(str(KEYS / "server.pem"), str(KEYS / "server.key"))))
    context = ssl.create_default_context(cafile=KEYS / "ca.pem")

    def exchange() -> bytes:
        with socket.create_connection(("127.0.0.1", port), 2) as plain:
            plain.sendall(v2("192.0.2.7", 1234, datagram=False))
            with context.wrap_socket(plain, server_hostname="kubernetes.default.svc") as secure:
                secure.sendall(stream(query(number=5)))
                return secure.recv(512)

    assert numbers(await asyncio.to_thread(exchange)) == [5]
    assert world.plugin.seen[0].client == ("192.0.2.7", 1234)
    await listener.close()
