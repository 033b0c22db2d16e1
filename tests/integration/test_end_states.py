"""What the client got is what log and metrics say, for each way in which a query can end, and each odd name."""

from __future__ import annotations

import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import dns.flags
import dns.message
import dns.rcode
import pytest

from support.process import ServerProcess, free_port, get, serving
from support.upstream import closed_port

FORMAT = "client={name} got={rcode} flags={>rflags}"
COREFILE = """\
{common}
ok.:{port} {{
    import common
    whoami
}}
long.:{port} {{
    import common
    template ANY ANY {{
        answer "{{{{ .Name }}}} 5 TXT {text}"
        answer "{{{{ .Name }}}} 5 TXT {text}"
        answer "{{{{ .Name }}}} 5 TXT {text}"
    }}
}}
denied.:{port} {{
    import common
    template ANY ANY {{
        rcode NXDOMAIN
        authority "denied. 5 SOA ns.denied. admin.denied. 1 2 3 4 5"
    }}
}}
rewritten.:{port} {{
    import common
    rewrite rcode suffix rewritten. SERVFAIL NXDOMAIN
    template ANY ANY {{
        rcode SERVFAIL
    }}
}}
dead.:{port} {{
    import common
    cache
    forward . 127.0.0.1:{dead}
}}
nobody.:{port} {{
    import common
    forward example.com 127.0.0.1:{dead}
}}
empty.:{port} {{
    import common
    auto {{
        directory {folder}
    }}
}}
blocked.:{port} {{
    import common
    acl {{
        block type A
        filter type AAAA
        drop type TXT
    }}
    whoami
}}
"""
COMMON = """\
(common) {{
    log . "{format}"
    errors
    prometheus 127.0.0.1:{metrics}
}}
"""
ENDS = [
    ("www.ok.", "A", "NOERROR"),
    ("www.long.", "TXT", "NOERROR"),
    ("www.denied.", "A", "NXDOMAIN"),
    ("www.rewritten.", "A", "NXDOMAIN"),
    ("www.dead.", "A", "SERVFAIL"),
    ("www.dead.", "A", "SERVFAIL"),
    ("www.nobody.", "A", "SERVFAIL"),
    ("www.empty.", "A", "REFUSED"),
    ("www.blocked.", "A", "REFUSED"),
    ("www.blocked.", "AAAA", "NOERROR"),
    ("www.blocked.", "TXT", "-"),
]
ODD = [
    b"%s%n",
    b"a\nb",
    b"\r",
    b"\x1b[2J",
    b"\x80\xff",
    b"\"'`",
    b"a b",
    b"client=x got=FORGED",
    b"\\",
    b"$(x)",
    b"{name}",
    b"\0",
    b"a.b",
]
NAME = r"((?:\\.|[^\\\s])+)"  # in presentation form, where a blank has a backslash before it
LINE = re.compile(rf"\[INFO\] client={NAME} got=([A-Z-]+) flags=(\S+)")
ERROR = re.compile(rf"\[ERROR\] plugin/errors: (\d+) {NAME} A: ")


@dataclass
class World:
    process: ServerProcess
    port: int
    metrics: int

    def ask(self, wire: bytes) -> dns.message.Message | None:
        """What comes back over UDP. Silence is known by the answer to a second query, which comes in order."""
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.settimeout(5)
            sock.connect(("127.0.0.1", self.port))
            sock.send(wire)
            marker = dns.message.make_query("www.ok.", "A", id=(wire[0] << 8 | wire[1]) ^ 0x5555)
            if b"blocked" in wire:
                sock.send(marker.to_wire())
            message = dns.message.from_wire(sock.recv(4096))
            return None if message.id == marker.id else message

    def logged(self, name: str) -> list[tuple[str, str]]:
        found = [match for line in self.process.lines if (match := LINE.fullmatch(line))]
        return [(match[2], match[3]) for match in found if match[1] == name]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder, empty = tmp_path_factory.mktemp("ends"), tmp_path_factory.mktemp("empty")
    port, metrics = free_port(), free_port()
    common = COMMON.format(format=FORMAT, metrics=metrics)
    with closed_port() as dead:
        text = COREFILE.format(common=common, port=port, dead=dead, folder=empty, text="x" * 200)
        with serving(folder, text, port) as process:
            yield World(process, port, metrics)


def test_each_end_is_the_same_everywhere(world: World) -> None:
    """B132: a client got SERVFAIL or REFUSED where log and metrics said NOERROR or nothing."""
    expected: Counter[tuple[str, str]] = Counter()
    seen: dict[str, list[tuple[str, str]]] = {}
    for name, qtype, rcode in ENDS:
        message = world.ask(dns.message.make_query(name, qtype).to_wire())
        got = "-" if message is None else dns.rcode.to_text(message.rcode())
        assert got == rcode, (name, qtype)
        flags = "-" if message is None else dns.flags.to_text(message.flags).lower().replace(" ", ",")
        seen.setdefault(name, []).append((got, flags))
        expected[name.partition(".")[2], "NOERROR" if got == "-" else got] += 1
    markers = sum("blocked" in name for name, _, _ in ENDS)
    world.process.says(" got=", times=len(ENDS) + markers)
    for name, answers in seen.items():
        logged = world.logged(name)
        assert [(rcode, set(flags.split(","))) for rcode, flags in logged[: len(answers)]] == [
            (rcode, set(flags.split(","))) for rcode, flags in answers
        ]
    metric = re.compile(r'coredns_dns_responses_total\{.*rcode="(\w+)".*zone="([a-z.]+)"\} (\d+)')
    found: Counter[tuple[str, str]] = Counter()
    for match in metric.finditer(get(world.metrics, "/metrics")):
        found[match[2], match[1]] += int(match[3])
    del found["ok.", "NOERROR"], expected["ok.", "NOERROR"]  # markers too
    assert found == expected


@pytest.mark.parametrize("zone", ["ok", "nobody"])
def test_odd_names_are_one_line_each_that_can_be_read(world: World, zone: str) -> None:
    """B135: a name could put a format string, a line end or a terminal's command into the log."""
    before = len(world.process.lines)
    for label in ODD:
        name = dns.name.Name((label, zone.encode(), b""))
        assert world.ask(dns.message.make_query(name, "A").to_wire()) is not None
    lines_each = 2 if zone == "nobody" else 1
    count = lines_each * len(ODD)
    world.process.until(lambda: len(world.process.lines) >= before + count, f"{count} lines")
    lines = world.process.lines[before:]
    assert len(lines) == count
    for pattern, group in ((LINE, 1), (ERROR, 2))[:lines_each]:
        names = [match[group] for line in lines if (match := pattern.match(line))]
        assert [dns.name.from_text(name).labels[0] for name in names] == [label.lower() for label in ODD]
    assert all(line.isascii() and line.isprintable() for line in lines)
