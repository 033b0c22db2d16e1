"""Queries that leave for an upstream before the chain is asked, since it is known that the chain will send them there.

For most names a chain does nothing but hand the query on to `forward`, and the reply back. When that was seen for one
query, its family (see `dispatch.siblings`) has a passage: its packets are sent on at once, and the chain, which wants
to count and to log, is asked when the reply is there, with it in hand (`Request.given`). Where even that would change
nothing in the bytes of a reply, as was seen for one of the same kind, it goes straight to the client, and plugins that
count say how to count once more.

Who may: a plugin that sends queries on and tells how (`Request.road`), with nobody before it but plugins that are
`transparent` and no source, those that are `confined`: that hand on, as it is, whatever is not in their `cuts`; and
those that are `Gated`: that say of each packet whether they would hand it on now. Behind a gate nothing is relayed.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from waypost.dispatch.request import Address
from waypost.dispatch.tallies import Repeat, Tallies, Tally
from waypost.dispatch.waiting import Waiting

Messages: TypeAlias = bytes | tuple[bytes, ...] | None
"""What to send: one message, several (zone transfers over a stream), or nothing."""
Answer: TypeAlias = Messages | Awaitable[Messages]
"""The same, now or later."""

_MAX_KINDS = 8
_MAX_BEHIND = 64


class Returned(Protocol):
    """What came back from an upstream: a reply that is plain (`wire.relay`) up to `end`, where 0 says that it is not,
    or that there is none."""

    data: bytes
    end: int

    def given(self) -> object:
        """What the plugin that sent the query wants to find in `Request.given`."""
        ...


class Road(Protocol):
    """How a plugin sends a family's packets on. That `plugin` vouches, by `Reply.steady`, for a reply that says what
    the upstream's does."""

    @property
    def plugin(self) -> object:
        """Whose it is."""
        ...

    def send(self, journey: Journey) -> bool:
        """Send its packet; `returned` is called once, later. False if it must go through the chain."""
        ...


class Relay(NamedTuple):
    """How replies of one kind reach the client: less the id, what stands before the question and behind the answer
    section."""

    before: bytes
    behind: bytes
    tally: Tally


Gate: TypeAlias = Callable[[bytes], bool]
"""Takes a packet of a family: whether a plugin would hand it on."""


class Passage:
    """A family's way to an upstream, and the kinds of reply that are relayed.

    Plain replies to one family are of one kind if their headers and all that follows the answer section are the same:
    then they have as many records, of the same size.
    """

    __slots__ = ("_closed", "_gates", "_kinds", "_tallies", "road")

    def __init__(self, road: Road, gates: tuple[Gate, ...], tallies: Tallies) -> None:
        self.road = road
        self._gates = gates
        self._closed = False
        self._kinds: dict[bytes, Relay] = {}
        self._tallies = tallies

    def admits(self, wire: bytes) -> bool:
        """Whether a packet may go."""
        return all(gate(wire) for gate in self._gates) if self._gates else True

    def relayed(self, wire: bytes, received: float, data: bytes, end: int) -> bytes | None:
        """The answer to a packet for a reply that is plain up to `end`, None if replies of its kind are not relayed."""
        relay = self._kinds.get(data[2:12] + data[end:])
        if relay is None:
            return None
        relay.tally.count(time.perf_counter() - received)
        return wire[:2] + relay.before + data[12:end] + relay.behind

    def learn(self, returned: Returned, answer: bytes, repeats: Sequence[Repeat]) -> None:
        """Relay replies of this kind from now on, if the answer that one led to could have been made so."""
        data, end = returned.data, returned.end
        short = len(data) - end <= _MAX_BEHIND and len(self._kinds) < _MAX_KINDS
        if short and not self._gates and not self._closed and answer[12:end] == data[12:end]:
            relay = Relay(answer[2:12], answer[end:], self._tallies.take(tuple(repeats)))
            self._kinds[data[2:12] + data[end:]] = relay

    def close(self) -> None:
        """It is given up: what is on its way takes the chain back, where it is counted."""
        self._closed = True
        for relay in self._kinds.values():
            self._tallies.give_back(relay.tally)
        self._kinds.clear()


class Trip(NamedTuple):
    """A query's, by a passage, with what it brought back."""

    passage: Passage
    returned: Returned


class Destination(Protocol):
    """The server that a query is for. `waiting` has the queries that wait."""

    waiting: Waiting

    def resume(self, wire: bytes, client: Address, received: float, trip: Trip) -> Answer:
        """Answer a packet that has been upstream."""
        ...


class Origin(Protocol):
    """The listener that a query came to."""

    def client_of(self, way: Any) -> Address:
        """Who sent it."""
        ...

    def land(self, journey: Journey, answer: Answer) -> None:
        """Send the answer."""
        ...


class Journey:
    """A datagram on its way upstream and back. `way` is the listener's, for the answer."""

    __slots__ = ("origin", "passage", "received", "server", "way", "wire")

    def __init__(
        self, origin: Origin, server: Destination, passage: Passage, wire: bytes, received: float, way: Any
    ) -> None:
        self.origin = origin
        self.server = server
        self.passage = passage
        self.wire = wire
        self.received = received
        self.way = way

    def returned(self, returned: Returned) -> None:
        """It is back: its answer leaves, now or later."""
        answer: Answer = None
        try:
            if returned.end:
                answer = self.passage.relayed(self.wire, self.received, returned.data, returned.end)
            if answer is None:
                client = self.origin.client_of(self.way)
                answer = self.server.resume(self.wire, client, self.received, Trip(self.passage, returned))
        finally:
            self.origin.land(self, answer)
