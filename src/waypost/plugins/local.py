"""local: answer localhost names and the reverse zones of this host without asking anybody (RFC 6303, RFC 6761).

local {
    localhost_prefix on|off
}
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.log import Log
from waypost.metrics.registry import Counter
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts, names
from waypost.wire.query import Query
from waypost.wire.record import Record, Records, address, ns, ptr, soa
from waypost.wire.reply import Reply, copied_flags

_TTL: Final = 604800
_LOCALHOST: Final = names.from_text("localhost")
_ROOT_MAILBOX: Final = names.from_text("root.localhost")
_LOOPBACK_PTR: Final = names.from_text("1.0.0.127.in-addr.arpa")
_REVERSE: Final = tuple(names.from_text(f"{octet}.in-addr.arpa") for octet in (0, 127, 255))
_ZONES: Final = ZoneList(frozenset((_LOCALHOST, *_REVERSE)))
_PREFIX: Final = _LOCALHOST[:-1]
_ADDRESSES: Final = {consts.TYPE_A: b"\x7f\x00\x00\x01", consts.TYPE_AAAA: b"\x00" * 15 + b"\x01"}
_SWITCH: Final = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Config:
    """Whether `localhost.example.org` and the like are loopback too, as search domains make them."""

    prefix: bool = True


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        if args:
            raise cursor.arg_err()
        for name, values in cursor.options():
            if name != "localhost_prefix":
                raise cursor.err(f"unknown property '{name}'")
            if len(values) != 1:
                raise cursor.arg_err()
            if values[0] not in _SWITCH:
                raise cursor.err(f"localhost_prefix expects 'on' or 'off', got \"{values[0]}\"")
            config = Config(_SWITCH[values[0]])
    return config


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    config = parse(directive)
    text = "Counter of localhost.<domain> requests."
    seen = site.metrics.counter("coredns_local_localhost_requests_total", text).labels()
    site.add(Local(config, seen, site.log))


class Local:
    """The zones localhost, 0, 127 and 255.in-addr.arpa, and names below or, if set, before `localhost`."""

    name = "local"
    next: Handler

    def __init__(self, config: Config, seen: Counter, log: Log) -> None:
        self._prefix = config.prefix
        self._seen = seen
        self._log = log

    def serve(self, request: Request) -> Outcome:
        """Owners keep the case of the question; AA is not set, as in CoreDNS."""
        query = request.query
        name = query.name
        zone = _ZONES.match(name)
        below = zone == _LOCALHOST and name != _LOCALHOST
        if below or (self._prefix and zone != _LOCALHOST and name.startswith(_PREFIX)):
            self._seen.inc()
            request.note(self.name, "names of localhost are answered here", ANSWERED)
            kind = consts.type_text(query.qtype)
            text = names.to_text(name)
            self._log.debug(f'Intercepting localhost query for "{text}" {kind}, from {request.client_ip}')
            return _found(query, _loopback(query), query.qname)
        if zone is None:
            return self.next.serve(request)
        request.note(self.name, "names of localhost and its addresses are answered here", ANSWERED)
        if name == zone:
            return _found(query, _apex(query), query.qname)
        own = query.qname[len(name) - len(zone) :]
        if name == _LOOPBACK_PTR:
            records = (ptr(query.qname, _TTL, _LOCALHOST),) if query.qtype == consts.TYPE_PTR else ()
            return _found(query, records, own)
        return Reply(consts.NXDOMAIN, copied_flags(query), (), (_soa(own),))


def _found(query: Query, records: Records, owner: bytes) -> Reply:
    """The records, or no data with an SOA at `owner`."""
    return Reply(consts.NOERROR, copied_flags(query), records, () if records else (_soa(owner),))


def _loopback(query: Query) -> Records:
    packed = _ADDRESSES.get(query.qtype)
    return (address(query.qname, _TTL, packed),) if packed is not None else ()


def _apex(query: Query) -> Records:
    if query.qtype == consts.TYPE_SOA:
        return (_soa(query.qname),)
    if query.qtype == consts.TYPE_NS:
        return (ns(query.qname, _TTL, _LOCALHOST),)
    return _loopback(query) if query.name == _LOCALHOST else ()


def _soa(owner: bytes) -> Record:
    return soa(owner, _TTL, _LOCALHOST, _ROOT_MAILBOX, 1, (0, 0, 0, _TTL))
