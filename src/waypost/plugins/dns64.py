"""dns64: make AAAA records of A records, for clients behind NAT64 (RFC 6147, addresses by RFC 6052).

dns64 [PREFIX] {
    prefix PREFIX
    translate_all
    allow_ipv4
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv6Network
from typing import Final

from waypost.corefile.addresses import parse_network
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.wire import consts
from waypost.wire.record import Record, address
from waypost.wire.reply import Reply, copied_flags

_TTL_WITHOUT_SOA: Final = 600
_ADDRESS_SIZE: Final = 16
_RESERVED_OCTET: Final = 8  # bits 64 to 71 are zero (RFC 6052 section 2.2)
_NAME: Final = "dns64"


@dataclass(frozen=True, slots=True)
class Config:
    """`prefix` as bytes; `warnings` are about lines without effect."""

    prefix: bytes = bytes.fromhex("0064ff9b0000000000000000")
    translate_all: bool = False
    allow_ipv4: bool = False
    warnings: tuple[str, ...] = ()


def parse(directive: Directive) -> Config:
    """A block behind a PREFIX argument is not read, as in CoreDNS. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        if args:
            config = replace(config, prefix=_prefix(cursor, args[0]))
            if cursor.next_is_on_line():
                text = f"{cursor.file}:{cursor.line} - the block behind a prefix has no effect: use 'prefix' in it"
                config = replace(config, warnings=(*config.warnings, text))
            continue
        for name, values in cursor.options():
            if name == "prefix":
                if not values:
                    raise cursor.arg_err()
                config = replace(config, prefix=_prefix(cursor, values[0]))
            elif name == "translate_all":
                config = replace(config, translate_all=True)
            elif name == "allow_ipv4":
                config = replace(config, allow_ipv4=True)
            else:
                raise cursor.err(f"unknown property '{name}'")
    return config


def _prefix(cursor: Cursor, text: str) -> bytes:
    try:
        network = parse_network(text)
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
    if not isinstance(network, IPv6Network):
        raise cursor.err(f"invalid netmask {network.max_prefixlen} IPv6 address: {quote(str(network))}")
    length = network.prefixlen
    if length % 8 or not 32 <= length <= 96:
        raise cursor.err(f"invalid prefix length {quote(str(network))}")
    return network.network_address.packed[: length // 8]


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    config = parse(directive)
    for warning in config.warnings:
        site.log.warning(warning)
    site.add(Dns64(config, site))


class Dns64:
    """Asks for A where there is no AAAA, and answers with what it makes of it."""

    __slots__ = ("_config", "_translated", "name", "next")

    next: Handler

    def __init__(self, config: Config, site: Site) -> None:
        self.name = _NAME
        self._config = config
        self._translated = site.metrics.counter(
            "coredns_dns64_requests_translated_total", "Counter of DNS requests translated by dns64.", ("server",)
        )

    def serve(self, request: Request) -> Outcome:
        """The next one's reply, unless it is one to an AAAA query without such records."""
        query = request.query
        if query.qtype != consts.TYPE_AAAA or query.qclass != consts.CLASS_IN:
            return self.next.serve(request)
        if not self._config.allow_ipv4 and not request.is_v6:
            return self.next.serve(request)
        return then(self.next.serve(request), partial(self._judge, request))

    def _judge(self, request: Request, reply: Reply) -> Outcome:
        """Other errors than NXDOMAIN count as NOERROR (RFC 6147 section 5.1.2)."""
        if not reply.written or reply.rcode == consts.NXDOMAIN:
            return reply
        if not self._config.translate_all and any(record.rtype == consts.TYPE_AAAA for record in reply.answer):
            return reply
        request.note(self.name, "no AAAA records: asks for A")
        found = request.lookup(request.query.name, consts.TYPE_A)
        return then(found, partial(self._translate, request, reply))

    def _translate(self, request: Request, reply: Reply, found: Reply) -> Reply:
        self._translated.labels(request.server.label).inc()
        request.note(self.name, "AAAA records made of the A records found", ANSWERED)
        longest = _negative_ttl(reply)
        return reply.replace(
            rcode=consts.NOERROR,
            flags=copied_flags(request.query) | found.flags & consts.TC,
            answer=tuple(self._translated_record(record, longest) for record in found.answer),
            authority=found.authority,
            additional=found.additional,
            opt=found.opt,
            depends=(*reply.depends, *found.depends),
        )

    def _translated_record(self, record: Record, longest: int) -> Record:
        if record.rtype != consts.TYPE_A or len(record.rdata) != 4:
            return record
        return address(record.owner, min(record.ttl, longest), to_ipv6(self._config.prefix, record.rdata))


def to_ipv6(prefix: bytes, packed: bytes) -> bytes:
    """The IPv6 address that stands for an IPv4 one of 4 bytes (RFC 6052 section 2.2)."""
    before = max(_RESERVED_OCTET - len(prefix), 0)
    gap = b"\x00" if len(prefix) <= _RESERVED_OCTET else b""
    return (prefix + packed[:before] + gap + packed[before:]).ljust(_ADDRESS_SIZE, b"\x00")


def _negative_ttl(reply: Reply) -> int:
    """How long, in seconds, it may be taken for granted that there is no AAAA (RFC 6147 section 5.1.7)."""
    for record in reply.authority:
        if record.rtype == consts.TYPE_SOA:
            return record.ttl
    return _TTL_WITHOUT_SOA
