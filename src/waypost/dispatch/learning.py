"""What one query's way through a chain teaches: which packets need not take it from now on.

`cut` has the names with a zone right below them that makes a difference to somebody: siblings there are no family.
"""

from __future__ import annotations

from collections.abc import Container

from waypost.dispatch.ahead import Trip
from waypost.dispatch.memo import PACKET, Memo, Sighting
from waypost.dispatch.request import Request
from waypost.wire import names
from waypost.wire.reply import Reply


def learn_from_reply(
    memo: Memo, cut: Container[bytes], request: Request, reply: Reply, answer: bytes, came: Sighting
) -> None:
    """A reply was there at once: if somebody vouches for it, keep the answer it made for more of the same."""
    query, site = request.query, request.site
    if site is None or request.repeats is None or reply.steady not in site.vouchers:
        return
    retold = request.retold or ()
    if reply.alike is not None and not retold and names.parent(query.name) not in cut:
        memo.keep_for_siblings(query.wire, answer, query.end, reply, request.repeats)
    if came == PACKET:
        memo.keep(query.wire[2:], answer[2:], reply, request.repeats, retold)


def learn_from_trip(request: Request, reply: Reply, answer: bytes, trip: Trip) -> None:
    """A query had gone ahead of the chain, which did nothing with its reply: relay replies of the kind."""
    if reply.steady is trip.passage.road.plugin and request.repeats is not None and not request.retold:
        trip.passage.learn(trip.returned, answer, request.repeats)


def learn_road(memo: Memo, cut: Container[bytes], request: Request) -> None:
    """A query was sent on: if nobody before that looked at more than its family, let the family go ahead."""
    query, site, road = request.query, request.site, request.road
    if site is None or road is None or request.repeats is None or road.plugin not in site.senders:
        return
    if names.parent(query.name) in cut or any(query.within(zone) for zone in site.occupied):
        return
    gates = [handler.gate(request) for handler in site.gated]
    if None not in gates:
        memo.send_ahead(query.wire, road, tuple(filter(None, gates)))
