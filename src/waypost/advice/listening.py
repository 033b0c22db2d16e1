"""Advice on the addresses that a configuration listens on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

from waypost.advice.finding import WARNING, Remark, Rule
from waypost.advice.subject import Block, Subject
from waypost.corefile.addresses import is_ip, parse_ip, split_host_port
from waypost.corefile.model import Token

_DEFAULTS: Final = {"health": ":8080", "ready": ":8181", "prometheus": "localhost:9153", "pprof": "localhost:6053"}
_ADMIN: Final = "127.0.0.1:9253"
_WILDCARDS: Final = ("", "0.0.0.0", "::")
_OVER_TCP: Final = frozenset(("dns", "tls", "grpc", "https"))
_NEEDS_CERTIFICATE: Final = frozenset(("tls", "grpc", "https"))


class Listener(NamedTuple):
    """Who listens where over TCP. An empty host is every address."""

    who: str
    host: str
    port: str
    token: Token


def listeners(subject: Subject) -> Iterator[Listener]:
    """Every address that the configuration listens on over TCP."""
    for block in subject.blocks:
        yield from _dns(block)
        for name, default in _DEFAULTS.items():
            for use in block.uses(name):
                yield from _listener(name, use.words[0] if use.words else default, use.name)
        for use in block.uses("waypost"):
            for option in use.all("admin"):
                yield from _listener("waypost admin", option.words[0] if option.words else _ADMIN, option.name)


def _dns(block: Block) -> Iterator[Listener]:
    hosts = [word for use in block.uses("bind") for word in use.words if is_ip(word)]
    if block.has("bind") and not hosts:  # interfaces, whose addresses are not known here
        return
    for label, address in block.addresses:
        if address.scheme in _OVER_TCP:
            for host in hosts or [""]:
                yield Listener("DNS", host, address.port, label)


def _listener(who: str, address: str, token: Token) -> Iterator[Listener]:
    try:
        host, port = split_host_port(address)
    except ValueError:
        return
    yield Listener(who, "127.0.0.1" if host == "localhost" else host, port, token)


def conflict(subject: Subject) -> Iterator[Remark]:
    """Two kinds of service on one port."""
    said: set[tuple[str, str, str]] = set()
    for one, other in combinations(listeners(subject), 2):
        key = (one.who, other.who, other.port)
        if one.who != other.who and one.port == other.port and _overlap(one.host, other.host) and key not in said:
            said.add(key)
            text = f"`{other.who}` and {one.who} (line {one.token.line}) both listen on port {one.port}"
            yield Remark(other.token, text.replace("`DNS`", "DNS"))


def _overlap(host: str, other: str) -> bool:
    if host in _WILDCARDS or other in _WILDCARDS:
        return True
    if is_ip(host) and is_ip(other):
        return parse_ip(host) == parse_ip(other)
    return host == other


def clear_text(subject: Subject) -> Iterator[Remark]:
    """An encrypted transport without a certificate."""
    for block in subject.blocks:
        for label, address in block.addresses:
            if address.scheme in _NEEDS_CERTIFICATE and not block.has("tls"):
                yield Remark(label, f"{address.scheme}:// without `tls` is served in clear text")


def profiling_reachable(subject: Subject) -> Iterator[Remark]:
    """Profiles of the process for everybody."""
    for listener in listeners(subject):
        beyond = listener.host in _WILDCARDS or (is_ip(listener.host) and not parse_ip(listener.host).is_loopback)
        if listener.who == "pprof" and beyond:
            yield Remark(listener.token, f"`pprof` listens on {listener.host or 'every address'}")


RULES: Final = (
    Rule(
        "W701", WARNING, "two services on one port",
        "With SO_REUSEPORT both start, and each connection reaches one of them by chance.",
        "Give one of them another port.",
        conflict,
    ),
    Rule(
        "W702", WARNING, "an encrypted transport without `tls`",
        "It is served in clear text.",
        "Add `tls CERT KEY`, unless a proxy in front of it ends TLS.",
        clear_text,
    ),
    Rule(
        "W703", WARNING, "`pprof` beyond loopback",
        "Everybody who reaches the pod can have profiles made and read the command line.",
        "Write `pprof` without an address.",
        profiling_reachable,
    ),
)  # fmt: skip
