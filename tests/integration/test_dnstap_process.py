"""dnstap in the real process: what a receiver gets of clients and upstreams, over reloads, and of repeated queries."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections import Counter
from pathlib import Path

import dns.message
import pytest

from support.dnstap import Receiver, receiving
from support.process import ServerProcess, ask, free_port, get
from support.upstream import ScriptedUpstream, good, until

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.96.0.7, ports: [{port: 80}]}
"""
CLUSTER_NAME = "web.shop.svc.cluster.local."


def corefile(port: int, *lines: str) -> str:
    return f".:{port} {{\n" + "".join(f"    {line}\n" for line in lines) + "}\n"


def start(folder: Path, text: str, port: int) -> ServerProcess:
    """A server of this Corefile that answers on the port."""
    (folder / "Corefile").write_text(text)
    return ServerProcess(["-conf", "Corefile"], cwd=folder).serving(port)


def kinds(receiver: Receiver) -> Counter[int]:
    return Counter(message.type for message in receiver.messages())


async def test_clients_and_upstreams(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "tap.sock"
    async with receiving(path) as receiver, ScriptedUpstream(good("192.0.2.77")) as upstream:
        text = corefile(
            port,
            "metadata",
            f'dnstap {path} full {{\n identity here\n extra "{{/forward/upstream}}"\n}}',
            f"forward . {upstream.address}",
        )
        with await asyncio.to_thread(start, tmp_path, text, port) as process:
            reply = await asyncio.to_thread(ask, port)
            await until(lambda: len(receiver.got) == 4)
            await asyncio.to_thread(ask, port, tcp=True)
            await until(lambda: len(receiver.got) == 8)
            assert await asyncio.to_thread(process.stop) == 0
        await until(lambda: receiver.finished == 1)
    asked, sent, came, answered = receiver.got[:4]
    assert [each.message.type for each in receiver.got[:4]] == [5, 7, 8, 6]
    assert {each.identity for each in receiver.got} == {b"here"}
    assert all(each.version.startswith(b"Waypost-") for each in receiver.got)
    host, upstream_port = upstream.address.split(":")
    assert answered.extra == upstream.address.encode()
    for each in (sent, came):
        assert each.message.response_address == socket.inet_aton(host)
        assert each.message.response_port == int(upstream_port)
    assert dns.message.from_wire(asked.message.query_message).id == reply.id
    for each in (came, answered):
        told = dns.message.from_wire(each.message.response_message)
        assert told.answer == reply.answer
    assert answered.message.query_address == socket.inet_aton("127.0.0.1")
    assert [each.message.socket_protocol for each in receiver.got[4:]] == [2, 2, 2, 2]


@pytest.mark.parametrize("with_log", [False, True])
async def test_repeated_queries_are_all_told(tmp_path: Path, with_log: bool) -> None:
    port, path = free_port(), tmp_path / "tap.sock"
    (tmp_path / "web.yaml").write_text(SERVICE)
    lines = [f"dnstap {path}", f"kubernetes cluster.local {{\n manifests {tmp_path}/web.yaml\n}}"]
    async with receiving(path) as receiver:
        text = corefile(port, *(["log"] if with_log else []), *lines)
        with await asyncio.to_thread(start, tmp_path, text, port) as process:
            await asyncio.to_thread(same_packet, port, 10)
            await until(lambda: len(receiver.got) >= 20)
            assert await asyncio.to_thread(process.stop) == 0
        assert kinds(receiver) == {5: 10, 6: 10}


def same_packet(port: int, times: int) -> None:
    """Ask the same, with the same bytes, so often."""
    wire = dns.message.make_query(CLUSTER_NAME, "A", id=7).to_wire()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(2)
        sock.connect(("127.0.0.1", port))
        for _ in range(times):
            sock.send(wire)
            assert dns.message.from_wire(sock.recv(512)).answer[0][0].to_text() == "10.96.0.7"


async def test_a_reload_keeps_the_connection(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "tap.sock"
    async with receiving(path) as receiver:
        text = corefile(port, f"dnstap {path}", "whoami")
        with await asyncio.to_thread(start, tmp_path, text, port) as process:
            await asyncio.to_thread(ask, port)
            process.kill(signal.SIGUSR1)
            await asyncio.to_thread(process.says, "Reloading complete")
            await asyncio.to_thread(ask, port)
            await until(lambda: len(receiver.got) == 4)
            assert receiver.connections == 1
            assert await asyncio.to_thread(process.stop) == 0


def test_without_a_receiver_the_server_serves(tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    text = corefile(port, f"prometheus 127.0.0.1:{metrics}", "dnstap tcp://127.0.0.1:1 full", "whoami")
    with start(tmp_path, text, port) as process:
        process.says("plugin/dnstap: No connection to dnstap endpoint: tcp://127.0.0.1:1: ")
        assert ask(port).rcode() == 0
        assert 'waypost_dnstap_dropped_messages_total{socket="tcp://127.0.0.1:1"} 0\n' in get(metrics, "/metrics")
        assert process.stop() == 0


async def test_receivers_that_connect(tmp_path: Path) -> None:
    port, path = free_port(), tmp_path / "tap.sock"
    text = corefile(port, f"dnstap listen {path}", "whoami")
    with await asyncio.to_thread(start, tmp_path, text, port) as process:
        receiver = Receiver()
        task = asyncio.create_task(receiver.receive(*await asyncio.open_unix_connection(path)))
        for _ in range(100):
            await asyncio.to_thread(ask, port)
            if receiver.got:
                break
        await until(lambda: len(receiver.got) >= 2)
        assert await asyncio.to_thread(process.stop) == 0
        await task
    assert receiver.finished == 1
    assert not await asyncio.to_thread(path.exists)
