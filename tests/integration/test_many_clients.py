"""Clients that hold connections and say nothing, and floods of queries that wait: others are served meanwhile."""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.rcode
import pytest

from support.load import framed, read_message
from support.process import ask, free_port, serving

IDLE = 2_000
FLOOD = 3_000
_SPARE = 200


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def connections() -> Iterator[int]:
    """How many connections we may hold: IDLE, or what the system allows."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield min(IDLE, before[1] - _SPARE)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_idle_connections(tmp_path: Path, port: int, connections: int) -> None:
    """S01: clients that open and stall exhausted the server."""
    timeouts = "timeouts {\n        idle 60s\n        read 60s\n    }"
    text = f".:{port} {{\n    bind 127.0.0.1\n    {timeouts}\n    whoami\n}}\n"
    with serving(tmp_path, text, port) as process, contextlib.ExitStack() as stack:
        before = process.resident_bytes()
        held = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 5)) for _ in range(connections)]
        for sock in held[::2]:
            sock.sendall(b"\0")
        for tcp in (False, True):
            assert ask(port, tcp=tcp).rcode() == dns.rcode.NOERROR
        assert (process.resident_bytes() - before) / connections < 16 << 10
        held[-1].sendall(framed(dns.message.make_query("a.", "A").to_wire()))
        assert read_message(held[-1])
        assert process.stop() == 0
        assert process.errors == []


def test_more_connections_than_descriptors(tmp_path: Path, port: int) -> None:
    """S01: the oldest idle ones make room, so that the process keeps descriptors for itself."""
    most = 256
    text = f".:{port} {{\n    bind 127.0.0.1\n    whoami\n}}\n"
    (tmp_path / "Corefile").write_text(text)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(serving(tmp_path, text, port))
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (most, limits[1]))
        for _ in range(most):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), 5))
        assert ask(port).rcode() == dns.rcode.NOERROR
        assert process.alive


def test_a_flood_of_queries_that_wait(tmp_path: Path, port: int) -> None:
    """B172"""
    text = f"slow:{port} {{\n    erratic {{\n        delay 1 1s\n    }}\n}}\n.:{port} {{\n    whoami\n}}\n"
    with (
        serving(tmp_path, text, port) as process,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock,
    ):
        sock.connect(("127.0.0.1", port))
        wire = dns.message.make_query("a.slow.", "A").to_wire()
        for _ in range(FLOOD):
            sock.send(wire)
        assert ask(port, "a.").rcode() == dns.rcode.NOERROR
        assert ask(port, "a.", tcp=True).rcode() == dns.rcode.NOERROR
        assert process.stop() == 0
        assert process.errors == []


BURST = 24_000
STOCK = """.:{port} {{
    bind 127.0.0.1
    kubernetes cluster.local {{
        manifests web.yaml
    }}
    forward . 127.0.0.1:{upstream}
    cache 30
}}
"""


def test_a_burst_of_misses_in_front_of_a_silent_upstream(tmp_path: Path, port: int) -> None:
    """B66: what waits is bounded, and own names are answered all the while."""
    (tmp_path / "web.yaml").write_text(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\n"
        "spec: {clusterIP: 10.96.0.7, ports: [{name: http, port: 80}]}\n"
    )
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as upstream,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client,
    ):
        upstream.bind(("127.0.0.1", 0))  # nobody reads there
        client.connect(("127.0.0.1", port))
        text = STOCK.format(port=port, upstream=upstream.getsockname()[1])
        with serving(tmp_path, text, port) as process:
            before = process.resident_bytes()
            for n in range(BURST):
                client.send(dns.message.make_query(f"n{n}.example.org.", "A").to_wire())
                if n % 2_000 == 0:  # as fast as it takes them in, and not as the kernel throws them away
                    answer = ask(port, "web.shop.svc.cluster.local.").answer
                    assert [rdata.address for rdata in answer[0]] == ["10.96.0.7"]
            assert process.resident_bytes() - before < 170 << 20
            assert process.alive
