"""Several sockets on one address: clients are spread, all are answered, a reload may change the number."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import dns.message
import dns.rcode

from support.load import framed, read_message
from support.process import free_port, serving

COREFILE = """.:{port} {{
    bind 127.0.0.1
    multisocket {number}
    erratic {{
        drop 0
    }}
}}
"""
CLIENTS = 40


def bound(table: str, port: int) -> int:
    """Sockets that wait on a port of 127.0.0.1, as /proc/net/TABLE has them: UDP unconnected, TCP listening."""
    local = f"0100007F:{port:04X}"
    rows = (line.split() for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:])
    return sum(row[1] == local and row[3] in ("07", "0A") for row in rows)


def ask_from_many(port: int) -> None:
    """Each of many clients of its own port gets its answer, by UDP and by TCP."""
    query = dns.message.make_query("a.example.org.", "A").to_wire()
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        clients = [socket.socket(socket.AF_INET, kind) for _ in range(CLIENTS)]
        for client in clients:
            client.settimeout(5)
            client.connect(("127.0.0.1", port))
            client.send(query if kind == socket.SOCK_DGRAM else framed(query))
        for client in clients:
            answer = client.recv(4096) if kind == socket.SOCK_DGRAM else read_message(client)
            assert dns.message.from_wire(answer).rcode() == dns.rcode.NOERROR
            client.close()


def test_the_number_of_sockets_follows_the_corefile(tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path, COREFILE.format(port=port, number=3), port) as process:
        for reloads, number in enumerate((3, 5, 1)):
            if reloads:
                (tmp_path / "Corefile").write_text(COREFILE.format(port=port, number=number))
                process.kill(signal.SIGUSR1)
                process.says("[INFO] Reloading complete", times=reloads)
            assert (bound("udp", port), bound("tcp", port)) == (number, number)
            ask_from_many(port)
        assert process.output.count(f".:{port} on 127.0.0.1\n") == 3
        assert process.stop() == 0
