"""Questions to replies from hosted zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, Protocol

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED
from waypost.plugins.route53.records import TYPE_ALIAS, alias_of, alias_target
from waypost.toolkit.zonedata import Zone
from waypost.toolkit.zonelist import ZoneList
from waypost.toolkit.zonelookup import Found, look_up, name_servers
from waypost.toolkit.zoneserve import serve_found
from waypost.wire import consts, names
from waypost.wire.reply import Reply, authoritative, failure

_TRANSFERS: Final = (consts.TYPE_AXFR, consts.TYPE_IXFR)


class Hosted(Protocol):
    """A hosted zone as it was read last; None: not yet."""

    zone: Zone | None


class Route53:
    """Of hosted zones with the same name the first that has the name asked for answers, else the last denies it."""

    __slots__ = ("_fall", "_list", "_zones", "name", "next")

    next: Handler

    def __init__(self, zones: Mapping[bytes, Sequence[Hosted]], fall: ZoneList) -> None:
        self.name = "route53"
        self._zones = zones
        self._list = ZoneList(frozenset(zones))
        self._fall = fall

    def serve(self, request: Request) -> Outcome:
        """Only names that do not exist fall through."""
        query = request.query
        origin = self._list.match(query.name)
        if origin is None:
            return self.next.serve(request)
        if query.qtype in _TRANSFERS:
            return failure(consts.REFUSED)
        loaded = [hosted.zone for hosted in self._zones[origin] if hosted.zone is not None]
        if len(loaded) < len(self._zones[origin]):
            request.note(self.name, "the zone is not loaded", ANSWERED)
            return failure(consts.SERVFAIL, "zone is not loaded")
        zone, found = _first_that_knows(loaded, query.name, query.qtype)
        if not found.answer and not _is_no_data(found) and self._fall.covers(query.name):
            request.note(self.name, "no hosted zone has the name, which falls through", PASSED)
            return self.next.serve(request)
        target = _alias_of(zone, query.name, query.qtype) if _is_no_data(found) and not found.answer else b""
        if target:
            request.note(self.name, f"an alias for {names.to_text(target)}", ANSWERED, f"zone {names.to_text(origin)}")
            return then(request.lookup(target, query.qtype), partial(_as_alias, request, zone, found))
        return serve_found(self.name, request, zone, _led_on(zone, found, query.qtype))


def _first_that_knows(zones: Sequence[Zone], name: bytes, qtype: int) -> tuple[Zone, Found]:
    for zone in zones:
        # Nobody can ask for what only stands for other records.
        found = look_up(zone, name, qtype if qtype != TYPE_ALIAS else consts.TYPE_ANY)
        if found.answer or _is_no_data(found):
            break
    return zone, found


def _is_no_data(found: Found) -> bool:
    return found.rcode == consts.NOERROR and not found.referral


def _alias_of(zone: Zone, name: bytes, qtype: int) -> bytes:
    """Wildcards have aliases, too: the zone is asked as for any other type."""
    for record in look_up(zone, name, TYPE_ALIAS).answer:
        target = alias_target(record, qtype) if record.rtype == TYPE_ALIAS else b""
        if target:
            return target
    return b""


def _led_on(zone: Zone, found: Found, qtype: int) -> Found:
    """What was found, with a CNAME that ends at an alias to be followed from there."""
    if not found.answer or found.chase or qtype == consts.TYPE_CNAME:
        return found
    last = found.answer[-1]
    if last.rtype != consts.TYPE_CNAME:
        return found
    target = last.rdata.lower()
    node = zone.nodes.get(target, {})
    return replace(found, chase=target) if alias_of(node, qtype) else found


def _as_alias(request: Request, zone: Zone, found: Found, target: Reply) -> Reply:
    """The target's records under the asked name; that it has none is for the zone to say."""
    query = request.query
    if target.rcode not in (consts.NOERROR, consts.NXDOMAIN):
        return failure(consts.SERVFAIL, f"alias target: {consts.rcode_text(target.rcode)}")
    answer = tuple(record._replace(owner=query.qname) for record in target.answer if record.rtype == query.qtype)
    if not answer:
        return authoritative(query, authority=found.authority, depends=target.depends)
    reply = authoritative(query, answer, name_servers(zone), depends=target.depends)
    return reply.replace(flags=reply.flags | target.flags & consts.TC)
