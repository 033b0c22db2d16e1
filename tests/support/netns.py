"""Network namespaces: a node with kube-proxy's rewriting, a pod on it, and the cluster's DNS beyond it.

Addresses are those of the documentation of Kubernetes; no packet leaves the namespaces.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import dns.exception
import dns.message
import dns.rdatatype

LINK_LOCAL = "169.254.20.10"
SERVICE = "10.96.0.10"
SERVICE6 = "fd00:96::a"
LOCAL6 = "fd00::20:10"
DNS_POD = "10.244.1.2"
DNS_POD6 = "fd00:244:1::2"
_CLONE_NEWNET = 0x40000000
_PROGRAMS = ("ip", "nft", "iptables", "ip6tables", "conntrack")
_KUBE_PROXY = f"""
table ip kube-proxy {{
  chain prerouting {{ type nat hook prerouting priority dstnat; jump services; }}
  chain output {{ type nat hook output priority -100; jump services; }}
  chain services {{
    ip daddr {SERVICE} udp dport 53 dnat to {DNS_POD}
    ip daddr {SERVICE} tcp dport 53 dnat to {DNS_POD}
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat
    oifname "cluster" ip saddr != 10.244.0.0/16 masquerade
  }}
}}
table ip6 kube-proxy {{
  chain prerouting {{ type nat hook prerouting priority dstnat; jump services; }}
  chain output {{ type nat hook output priority -100; jump services; }}
  chain services {{
    ip6 daddr {SERVICE6} udp dport 53 dnat to {DNS_POD6}
    ip6 daddr {SERVICE6} tcp dport 53 dnat to {DNS_POD6}
  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat
    oifname "cluster" ip6 saddr != fd00:244::/64 masquerade
  }}
}}
"""
_libc: Any = ctypes.CDLL(None, use_errno=True)


def why_not() -> str:
    """Why no namespaces can be used here; empty if they can."""
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    name = f"waypost-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode:
        return f"no network namespace can be made: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], capture_output=True)
    return ""


class Namespace:
    """One namespace, with loopback up."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.prefix = ("ip", "netns", "exec", name)
        _run("ip", "netns", "add", name)
        self.ip("link set lo up")

    def ip(self, words: str) -> None:
        """`ip` inside of it."""
        _run("ip", "-n", self.name, *words.split())

    def run(self, *words: str, text: str = "") -> str:
        """The output of a command inside of it."""
        return _run(*self.prefix, *words, text=text)

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """This thread's new sockets belong to it."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            _enter(there)
            yield
        finally:
            _enter(own)
            os.close(own)
            os.close(there)

    def delete(self) -> None:
        subprocess.run(["ip", "netns", "delete", self.name], capture_output=True)


class Network:
    """`node` between `pod` and `cluster`; kube-proxy's rules lead the Service's address to the cluster's DNS."""

    def __init__(self) -> None:
        mark = secrets.token_hex(3)
        self._all: list[Namespace] = []
        try:
            for role in ("node", "pod", "cluster"):
                self._all.append(Namespace(f"waypost-{mark}-{role}"))
            self.node, self.pod, self.cluster = self._all
            for number, other in enumerate((self.pod, self.cluster)):
                self._join(other, ("pod", "cluster")[number], f"10.244.{number}", ("fd00:244", "fd00:244:1")[number])
            for setting in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
                path = f"/proc/sys/{setting.replace('.', '/')}"
                self.node.run("sh", "-c", f"echo 1 > {path}")
            self.node.ip(f"route add default via {DNS_POD}")
            self.node.ip(f"-6 route add default via {DNS_POD6}")
            self.node.run("nft", "-f", "-", text=_KUBE_PROXY)
        except BaseException:
            self.delete()
            raise

    def _join(self, other: Namespace, name: str, net: str, net6: str) -> None:
        self.node.ip(f"link add {name} type veth peer name eth0 netns {other.name}")
        for namespace, device, host in ((self.node, name, 1), (other, "eth0", 2)):
            namespace.ip(f"addr add {net}.{host}/24 dev {device}")
            namespace.ip(f"addr add {net6}::{host}/64 dev {device} nodad")
            namespace.ip(f"link set {device} up")
        other.ip(f"route add default via {net}.1")
        other.ip(f"-6 route add default via {net6}::1")

    def tracked(self, address: str) -> int:
        """Connections to an address that the node's conntrack knows, forgotten afterwards."""
        family = "ipv6" if ":" in address else "ipv4"
        text = self.node.run("sh", "-c", f"conntrack -L -f {family} -d {address} 2>/dev/null || true")
        self.node.run("sh", "-c", "conntrack -F 2>/dev/null")
        return len(text.splitlines())

    def delete(self) -> None:
        for namespace in self._all:
            namespace.delete()


class Answer(NamedTuple):
    """Who answered one question, by the address in the answer; None: nobody in time."""

    by: str | None
    at: float


class Asking:
    """A client in a namespace that asks without pause until the `with` block ends, each question from another port."""

    def __init__(self, namespace: Namespace, server: str, *, tcp: bool = False, patience: float = 1.0) -> None:
        self.answers: list[Answer] = []
        self.failures: list[str] = []
        self._namespace = namespace
        self._server = server
        self._tcp = tcp
        self._patience = patience
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask_on, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join(10)

    @property
    def lost(self) -> int:
        return sum(answer.by is None for answer in list(self.answers))

    def since(self, number: int) -> set[str | None]:
        """Who answered all but the first so many."""
        return {answer.by for answer in self.answers[number:]}

    def until(self, by: str | None, times: int = 5) -> None:
        """Wait for so many further answers in a row by one server."""
        start = len(self.answers)
        deadline = time.monotonic() + 40
        while [answer.by for answer in self.answers[start:][-times:]] != [by] * times:
            assert time.monotonic() < deadline, f"not answered by {by}: {self.answers[-20:]}"
            time.sleep(0.01)

    def _ask_on(self) -> None:
        with self._namespace.inside():
            while not self._ended.is_set():
                try:
                    by = self._ask()
                except (OSError, EOFError, dns.exception.DNSException) as exc:
                    self.failures.append(f"after {len(self.answers)} answers: {exc!r}")
                    by = None
                self.answers.append(Answer(by, time.monotonic()))
                time.sleep(0.002)

    def _ask(self) -> str:
        """A server may close a connection at any time; its client then asks again (RFC 7766 section 6.2.4)."""
        try:
            return answered(self._server, tcp=self._tcp, patience=self._patience)
        except (ConnectionResetError, EOFError, BrokenPipeError):
            return answered(self._server, tcp=self._tcp, patience=self._patience)


def ask(server: str, *, tcp: bool = False, patience: float = 1.0) -> str | None:
    """As `answered`; None without answer."""
    try:
        return answered(server, tcp=tcp, patience=patience)
    except (OSError, EOFError, dns.exception.DNSException):
        return None


def answered(server: str, *, tcp: bool = False, patience: float = 1.0) -> str:
    """The address that a server gives for who.test, from inside the namespace of this thread.

    Raises OSError, EOFError or DNSException.
    """
    query = dns.message.make_query("who.test.", "A")
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    wire = query.to_wire()
    with socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as sock:
        sock.settimeout(patience)
        sock.connect((server, 53))
        sock.sendall(len(wire).to_bytes(2, "big") + wire if tcp else wire)
        data = sock.recv(4096)
        while tcp and data and len(data) < 2 + int.from_bytes(data[:2].ljust(2, b"\xff"), "big"):
            data += sock.recv(4096)
    if not data:
        raise EOFError("the connection was closed")
    reply = dns.message.from_wire(data[2:] if tcp else data)
    if reply.id != query.id or not reply.answer:
        raise OSError(f"not an answer: {reply}")
    return str(reply.answer[0][0])


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _run(*words: str, text: str = "") -> str:
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
    return done.stdout
