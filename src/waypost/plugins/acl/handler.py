"""What acl does with a query.

A query that a plugin before it has changed (rewrite, autopath) must pass both as the client asked it and as it is now:
a blocked name cannot be reached by another one, nor does a rewrite unblock it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.metrics.registry import Counter
from waypost.plugins.acl.config import Action, Policy
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import addr, consts, names
from waypost.wire.edns import DO, Opt, ede
from waypost.wire.query import Query
from waypost.wire.reply import DROP, Reply, copied_flags

_EDE_BLOCKED: Final = 15
_EDE_FILTERED: Final = 17
_EDE_SIZE: Final = 4096
_MAPPED: Final = bytes(10) + b"\xff\xff"


class Verdict(NamedTuple):
    """An action, the zone of the rule that says so in wire form, and where that stands in the Corefile."""

    action: Action
    zone: bytes
    place: str = ""


_ALLOWED: Final = Verdict(Action.ALLOW, names.ROOT)


class AccessList:
    """Rules are tried in order: in the first whose zone holds the name and one of whose policies fits, that decides."""

    __slots__ = ("_allowed", "_log", "_metrics", "_rules", "name", "next")

    next: Handler

    def __init__(self, rules: Iterable[tuple[ZoneList, tuple[Policy, ...]]], site: Site) -> None:
        self.name = "acl"
        self._rules = tuple(rules)
        self._log = site.log
        self._metrics = AclMetrics(site)
        self._allowed: dict[str, Counter] = {}

    def serve(self, request: Request) -> Outcome:
        """The next one's reply to what is allowed; REFUSED, an empty NOERROR, or silence."""
        query, asked = request.query, request.asked
        client = _packed(request.client_ip)
        verdict = _ALLOWED
        if asked is not None and (asked.name != query.name or asked.qtype != query.qtype):
            verdict = self._judge(asked, client)
        if verdict.action is Action.ALLOW:
            verdict = self._judge(query, client)
        if verdict.action is not Action.ALLOW:
            return self._refuse(request, client, verdict)
        if request.trace is not None:
            rule = f"by {verdict.place}" if verdict.place else "no rule fits"
            request.note(self.name, f"client {request.client_ip} is allowed: {rule}")
        server = request.server.label
        cell = self._allowed.get(server)
        if cell is None:
            cell = self._allowed[server] = self._metrics.allowed(server)
        cell.value += 1
        return self.next.serve(request)

    def _refuse(self, request: Request, client: bytes | None, verdict: Verdict) -> Reply:
        action, zone, place = verdict
        if client is None:
            text = f"Blocking request. Unable to parse source address: {request.client_ip}"
            self._log.once_a_burst(self._log.error, text)
        self._metrics.refused(action, request.server.label, zone).inc()
        if request.trace is not None:
            text = f"client {request.client_ip} is stopped by {action.value} in {place}"
            request.note(self.name, text, ANSWERED, place)
        if action is Action.BLOCK:
            return _told(request.query, consts.REFUSED, _EDE_BLOCKED)
        return _told(request.query, consts.NOERROR, _EDE_FILTERED) if action is Action.FILTER else DROP

    def _judge(self, query: Query, client: bytes | None) -> Verdict:
        """What the first rule that fits says. A client that is no address is blocked."""
        for zones, policies in self._rules:
            zone = zones.match(query.name)
            if zone is None:
                continue
            if client is None:
                return Verdict(Action.BLOCK, zone)
            for policy in policies:
                if policy.fits(query.qtype, client):
                    return Verdict(policy.action, zone, policy.place)
        return _ALLOWED


class AclMetrics:
    """Counters of what was done. The block's view is asked for late: it is known only once every plugin is set up."""

    __slots__ = ("_allowed", "_others", "_site")

    def __init__(self, site: Site) -> None:
        counter = site.metrics.counter
        labels = ("server", "zone", "view")
        self._site = site
        self._allowed = counter(
            "coredns_acl_allowed_requests_total", "Counter of DNS requests being allowed.", ("server", "view")
        )
        self._others = {
            Action.BLOCK: counter(
                "coredns_acl_blocked_requests_total", "Counter of DNS requests being blocked.", labels
            ),
            Action.FILTER: counter(
                "coredns_acl_filtered_requests_total", "Counter of DNS requests being filtered.", labels
            ),
            Action.DROP: counter(
                "coredns_acl_dropped_requests_total", "Counter of DNS requests being dropped.", labels
            ),
        }

    def allowed(self, server: str) -> Counter:
        """The counter of a listener's allowed queries."""
        return self._allowed.labels(server, self._site.view)

    def refused(self, action: Action, server: str, zone: bytes) -> Counter:
        """The counter for another action, in a zone in wire form."""
        return self._others[action].labels(server, names.to_text(zone), self._site.view)


def _packed(ip: str) -> bytes | None:
    """An address as bytes; an IPv4 one that came over an IPv6 socket as what it is (RFC 4291 section 2.5.5.2)."""
    packed = addr.pack(ip)
    return packed[12:] if packed is not None and packed.startswith(_MAPPED) else packed


def _told(query: Query, rcode: int, code: int) -> Reply:
    """A reply without records that says why (RFC 8914), to clients without EDNS too, as CoreDNS does."""
    return Reply(rcode, copied_flags(query), opt=Opt(_EDE_SIZE, 0, DO, (ede(code),)))
