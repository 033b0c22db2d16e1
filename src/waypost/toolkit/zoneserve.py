"""A question to a zone answered as file, auto and secondary do it: fall through, chase CNAMEs, note the wildcard."""

from __future__ import annotations

from functools import partial

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED
from waypost.toolkit.zonedata import Zone
from waypost.toolkit.zonelist import ZoneList
from waypost.toolkit.zonelookup import Found, complete, look_up
from waypost.wire import consts, names
from waypost.wire.query import Query
from waypost.wire.reply import Reply, copied_flags, failure

WILDCARD = "zone/wildcard"
_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)


def serve_zone(plugin: str, request: Request, zone: Zone | None, fall: ZoneList, following: Handler) -> Outcome:
    """The reply to a question whose name lies in the zone; None is a zone that could not be had yet.

    A transfer that comes here was taken by no `transfer`, and is refused. `plugin` is for the notes.
    """
    query = request.query
    name = query.name
    if query.qtype in _TRANSFERS:
        return failure(consts.REFUSED)
    if zone is None:
        request.note(plugin, "the zone is not loaded", ANSWERED)
        return failure(consts.SERVFAIL, "zone is not loaded")
    found = look_up(zone, name, query.qtype, dnssec=query.do)
    if found.vacant and fall.zones and fall.covers(name):
        if request.trace is not None:
            text = f"zone {names.to_text(zone.origin)} has nothing at this name, which falls through"
            request.note(plugin, text, PASSED, version=f"serial {zone.serial}")
        return following.serve(request)
    return serve_found(plugin, request, zone, found)


def serve_found(plugin: str, request: Request, zone: Zone, found: Found) -> Outcome:
    """The reply that says what was found in a zone, once a CNAME that leads out of it was followed."""
    query = request.query
    if found.wildcard and request.metadata is not None:
        request.metadata[WILDCARD] = partial(names.to_text, found.wildcard)
    if request.trace is not None:
        _explain(plugin, request, zone, found)
    if found.chase:
        return then(request.lookup(found.chase, query.qtype), partial(_completed, query, zone, found))
    return _reply(query, found)


def _completed(query: Query, zone: Zone, found: Found, target: Reply) -> Reply:
    """The answer with what the CNAME leads to; it depends on all that the target depends on."""
    reply = _reply(query, complete(zone, found, target, dnssec=query.do))
    return reply.replace(depends=target.depends) if target.depends else reply


def _reply(query: Query, found: Found) -> Reply:
    flags = copied_flags(query) if found.referral else copied_flags(query) | consts.AA
    return Reply(found.rcode, flags, found.answer, found.authority, found.additional)


def _explain(plugin: str, request: Request, zone: Zone, found: Found) -> None:
    origin, qtype = names.to_text(zone.origin), consts.type_text(request.query.qtype)
    if found.wildcard:
        request.note(plugin, f"made from the wildcard {names.to_text(found.wildcard)}")
    if found.referral:
        text = f"zone {origin} hands the name on to the name servers of a zone below"
    elif found.chase:
        text = f"zone {origin} has a CNAME to {names.to_text(found.chase)}, which lies elsewhere"
    elif found.answer:
        text = f"zone {origin} has this name"
    elif found.rcode == consts.NXDOMAIN:
        text = f"zone {origin} has no such name"
    else:
        text = f"zone {origin} has this name, but no {qtype} records there"
    request.note(plugin, text, ANSWERED, f"zone {origin}", version=f"serial {zone.serial}")
