"""★2 START HERE: one query from bytes to bytes. Every step of a query's way is named in `Server.serve`, in order.

A `Server` stands for one listen address (scheme, host and port). It knows the server blocks there and nothing of
sockets: a listener hands it a packet and sends what it gets back.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Awaitable
from functools import partial

from waypost.dispatch.ahead import Answer, Messages, Trip
from waypost.dispatch.handler import Outcome, then
from waypost.dispatch.learning import learn_from_reply, learn_from_trip, learn_road
from waypost.dispatch.memo import NEW, Memo, Sighting
from waypost.dispatch.pending import Pending
from waypost.dispatch.proxying import ProxyPolicy
from waypost.dispatch.request import Address, Request
from waypost.dispatch.site import Site
from waypost.dispatch.waiting import Waiting
from waypost.dispatch.zones import ZoneMap
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.metrics.traffic import Traffic
from waypost.wire import consts, names
from waypost.wire.errors import Rejected
from waypost.wire.fit import bad_version, pack, reply_size
from waypost.wire.query import Query, parse_query
from waypost.wire.reply import Reply, copied_flags, failure

# The server writes these itself when no plugin wrote a message; any other rcode without a message is silence.
_SERVER_WRITTEN = frozenset((consts.FORMERR, consts.SERVFAIL, consts.NOTIMP, consts.REFUSED))
# An internal look-up that starts another one, and so on, ends here.
_MAX_DEPTH = 8
_OPEN_CLASSES = ("chaos", "forward")


class Server:
    """One listen address and its server blocks.

    `host` is empty for an unbound listener. `memos` are for clients with IPv4 and with IPv6 addresses. `waiting`
    has the queries that wait; listeners keep it.
    """

    __slots__ = (
        "_any_class",
        "_cut",
        "_dropped",
        "_panics",
        "_same_for_all",
        "debug",
        "host",
        "label",
        "log",
        "max_udp_size",
        "memos",
        "port",
        "proxying",
        "sheds",
        "stacktrace",
        "waiting",
        "zones",
    )

    def __init__(self, scheme: str, host: str, port: str, log: Log, metrics: Registry) -> None:
        self.host = host
        self.port = port
        self.label = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        self.log = log
        self.zones = ZoneMap()
        self.memos = (Memo(), Memo())
        self.waiting = Waiting()
        self.max_udp_size = 65535
        self.proxying: ProxyPolicy | None = None
        self.sheds = False
        self.debug = False
        self.stacktrace = False
        self._any_class = False
        self._same_for_all = True
        self._cut: frozenset[bytes] = frozenset()
        self._dropped = metrics.shared(Traffic).meter(self.label, "dropped", "", "")
        self._panics = metrics.counter("coredns_panics_total", "A metrics that counts the number of panics.").labels()

    def add(self, zone: bytes, site: Site) -> None:
        """Let a server block answer for a zone on this address."""
        self.zones.add(zone, site)
        self.debug = self.debug or site.debug
        self.stacktrace = site.stacktrace
        self.max_udp_size = min(self.max_udp_size, site.max_udp_size)
        self.proxying = site.proxying or self.proxying
        self.sheds = self.sheds or site.sheds
        self._any_class = self._any_class or any(name in site.handlers for name in _OPEN_CLASSES)
        self._cut |= {names.parent(zone_cut) for zone_cut in (zone, *site.cuts)}
        # Which block answers must not depend on the client either.
        self._same_for_all = self._same_for_all and not site.filters and site.collect is None

    def serve(self, wire: bytes, client: Address, datagram: bool, local: Address | None = None) -> Answer:
        """Answer one packet (a UDP payload or one TCP message) from `client`.

        For datagrams a listener first asks the memo of the client's family whether it has the answer, or a passage
        (`Memo.recall`).
        """
        return self._ask(wire, client, datagram, local, time.perf_counter(), None)

    def resume(self, wire: bytes, client: Address, received: float, trip: Trip) -> Answer:
        """Answer a datagram that went upstream by a passage, now that there is a reply or none (`dispatch.ahead`)."""
        return self._ask(wire, client, True, None, received, trip)

    def _ask(
        self, wire: bytes, client: Address, datagram: bool, local: Address | None, received: float, trip: Trip | None
    ) -> Answer:
        """What the chain makes of a packet that was received at this time; with a `trip`, it has been upstream."""
        try:
            query = parse_query(wire)
        except Rejected as rejected:
            return rejected.reply
        request = Request(query, client, self, datagram, received, local)
        if query.qclass != consts.CLASS_IN and not self._any_class:
            return self._refuse(request)
        opt = query.opt
        if opt is not None:
            if opt.version:
                return bad_version(query)
            if opt.udp_size > self.max_udp_size:
                query.opt = opt._replace(udp_size=self.max_udp_size)
        try:
            site = self.zones.match(request)
            if site is None or site.chain is None:
                return self._refuse(request)
            request.site = site
            came: Sighting = NEW
            if trip is not None:
                request.given = trip.returned.given()
            elif datagram and site.keeps and self._same_for_all:
                came = self._memo(client).came_before(wire)
            if came or trip is not None:
                request.repeats, request.retold = [], []
            outcome = site.chain.serve(request)
            if type(outcome) is Reply:
                answer = self._finish(request, outcome)
                if isinstance(answer, bytes):
                    if came:
                        learn_from_reply(self._memo(client), self._cut, request, outcome, answer, came)
                    elif trip is not None:
                        learn_from_trip(request, outcome, answer, trip)
                return answer
        except Exception as exc:
            return self._finish_recovered(request, exc)
        if came:
            learn_road(self._memo(client), self._cut, request)
        if isinstance(outcome, Pending):
            return outcome.then(partial(self._finish, request)).rescue(partial(self._finish_recovered, request))
        return self._finish_later(request, outcome)  # type: ignore[arg-type]  # mypy does not narrow by type()

    def lookup(self, request: Request, qname: bytes, qtype: int) -> Outcome:
        """Ask this server another question for the same client; nothing is sent. See `Request.lookup`."""
        child = request.asking(qname, qtype)
        child.asked = None  # a question of the server's own
        child.depth = request.depth + 1
        child.received = time.perf_counter()
        if child.trace is not None:
            child.note("server", f"looks up {names.to_text(qname)} {consts.type_text(qtype)}")
        if child.depth > _MAX_DEPTH:
            return _written_by_server(child.query, consts.SERVFAIL)
        site = self.zones.match(child)
        if site is None or site.chain is None:
            return _written_by_server(child.query, consts.REFUSED)
        child.site = site
        outcome = site.chain.serve(child)
        return then(outcome, partial(_looked_up, child.query))

    def _memo(self, client: Address) -> Memo:
        return self.memos[len(client) > 2]

    def _finish(self, request: Request, reply: Reply) -> Messages:
        if not reply.written:
            if reply.rcode not in _SERVER_WRITTEN:
                return None
            reply = _written_by_server(request.query, reply.rcode)
        datagram = request.datagram
        first = pack(request.query, reply, datagram=datagram, v6=datagram and request.is_v6)
        sign = request.sign
        if not reply.more or datagram:
            return first if sign is None else sign(first)
        messages = (first, *(pack(request.query, further, datagram=False) for further in reply.more))
        return messages if sign is None else tuple(map(sign, messages))

    def _finish_recovered(self, request: Request, exc: Exception) -> Messages:
        return self._finish(request, self._recover(request, exc))

    async def _finish_later(self, request: Request, waiting: Awaitable[Reply]) -> Messages:
        try:
            return self._finish(request, await waiting)
        except Exception as exc:
            return self._finish_recovered(request, exc)

    def _refuse(self, request: Request) -> Messages:
        reply = _written_by_server(request.query, consts.REFUSED)
        self._count_dropped(request, reply)
        return self._finish(request, reply)

    def _recover(self, request: Request, exc: Exception) -> Reply:
        """A fault of ours or of a plugin: SERVFAIL and a counter, unless `debug` wants the process to stop."""
        if self.debug:
            raise exc
        self._panics.inc()
        stack = "\n" + "".join(traceback.format_exception(exc)) if self.stacktrace else ""
        text = f'Recovered from panic in server: "{self.label}" {type(exc).__name__}: {exc}{stack}'
        self.log.once_a_burst(self.log.error, text)
        reply = failure(consts.SERVFAIL)
        self._count_dropped(request, reply)
        return reply

    def _count_dropped(self, request: Request, reply: Reply) -> None:
        """Queries that no chain has seen are counted in the zone `dropped`."""
        query = request.query
        seconds = time.perf_counter() - request.received
        size = reply_size(query, reply)
        self._dropped.count(query, request.datagram, request.is_v6, reply.rcode, False, size, seconds)


def _written_by_server(query: Query, rcode: int) -> Reply:
    return Reply(rcode, copied_flags(query))


def _looked_up(query: Query, reply: Reply) -> Reply:
    return reply if reply.written else _written_by_server(query, reply.rcode or consts.SERVFAIL)
