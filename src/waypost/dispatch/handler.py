"""★5 What a plugin is: `serve` gives a reply, or an awaitable of one when it must wait.

An answer from memory is a plain call through the chain: no task, no turn of the event loop. One that comes later from
a source that calls back is a `Pending`. A plugin that does something with the next one's reply, now or later, says
`then(self.next.serve(request), change)`. It may also be an `async def serve`.

Plugins find each other through the Protocols below, never by import.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from waypost.dispatch.pending import Pending
from waypost.dispatch.request import Request
from waypost.wire import consts
from waypost.wire.record import Record
from waypost.wire.reply import Reply, failure

Outcome: TypeAlias = Reply | Awaitable[Reply]


class Handler(Protocol):
    """A plugin in a chain. `name` is its directive; `next` is set when the chain is linked.

    A class may say more of itself, so that not every query needs the chain (`dispatch.memo`, `dispatch.ahead`):

        transparent  True: it hands requests and steady replies on as they are, whoever asks, and tells by
                     `Request.repeats` and `Request.retold` how to count and to write of more of the same
        vouches      True: it marks replies as steady
        confined     True: whatever is not within its `cuts` it hands on as it is, and the reply back
        sends_ahead  True: it may send queries before the chain is asked, by a `Request.road`
        cuts         zones (wire form, lower case) that make a difference to it
    """

    name: str
    next: Handler

    def serve(self, request: Request) -> Outcome:
        """Answer, or hand the request (or a child of it) to `self.next`."""
        ...


def then(outcome: Outcome, change: Callable[[Reply], Outcome]) -> Outcome:
    """Apply `change` to the reply: now if it is there, else when it comes. Exceptions pass through."""
    if type(outcome) is Reply:
        return change(outcome)
    if isinstance(outcome, Pending):
        return outcome.then(change)
    return _later(outcome, change)  # type: ignore[arg-type]  # mypy does not narrow by type()


async def _later(waiting: Awaitable[Reply], change: Callable[[Reply], Outcome]) -> Reply:
    return await settled(change(await waiting))


async def settled(outcome: Outcome) -> Reply:
    """The reply, waited for if need be: for plugins written as coroutines."""
    return outcome if isinstance(outcome, Reply) else await outcome


NOBODY = "no next plugin found"
"""What the error of a chain's end ends in: no plugin was for the name."""


class EndOfChain:
    """Behind the last plugin: nobody answered."""

    __slots__ = ("_reply", "name", "next")

    next: Handler

    def __init__(self, last: str) -> None:
        self.name = ""
        self.next = self
        self._reply = failure(consts.SERVFAIL, f"plugin/{last}: {NOBODY}")

    def serve(self, request: Request) -> Outcome:
        """SERVFAIL, to be written by the server."""
        return self._reply


def link(handlers: list[Handler]) -> Handler:
    """Set each handler's `next`; gives the first. The list must not be empty."""
    following: Handler = EndOfChain(handlers[-1].name)
    for handler in reversed(handlers):
        handler.next = following
        following = handler
    return following


@runtime_checkable
class Ready(Protocol):
    """A plugin that `ready` asks."""

    def ready(self) -> bool:
        """True once it can serve."""
        ...


@runtime_checkable
class Metadata(Protocol):
    """A plugin that knows labels for log, rewrite, template or view."""

    def metadata(self, request: Request) -> Iterable[tuple[str, Callable[[], str]]]:
        """Labels such as `kubernetes/namespace` with functions that give their values."""
        ...


@runtime_checkable
class Transferer(Protocol):
    """A plugin that can hand out a whole zone."""

    def transfer(self, zone: bytes, serial: int | None) -> Iterable[Record] | None:
        """Every record of exactly this zone (lower case), SOA first and last; None: not a zone of mine.

        `serial` is the one an IXFR client has (None: AXFR): if it is current the SOA alone is given.
        """
        ...


@runtime_checkable
class AutoPath(Protocol):
    """A plugin that knows a client's search path."""

    def autopath(self, request: Request) -> list[bytes]:
        """Search domains in wire form, the root last; empty: not known."""
        ...


@runtime_checkable
class ChangeFeed(Protocol):
    """A plugin with data that changes by events."""

    @property
    def version(self) -> int:
        """A number that changes at least whenever the SOA serial of its answers does."""
        ...

    def subscribe(self, callback: Callable[[Sequence[bytes] | None], None]) -> Callable[[], None]:
        """Call back after each change with the keys (as in `Reply.depends`) that it touched, None: any may be.

        On the event loop's thread; gives the function that ends it.
        """
        ...


@runtime_checkable
class Gated(Protocol):
    """A plugin that hands on what it does not answer itself, and may know that before it is asked."""

    def gate(self, request: Request) -> Callable[[bytes], bool] | None:
        """For the packets of this request's family (see `dispatch.ahead`): whether one would be handed on by now.

        None if each must go through the chain. The plugin hands on a request with `given` without another look.
        """
        ...


class CacheEntry(NamedTuple):
    """A kept answer. The name is in wire form and lower case; `do` and `cd` are bits that clients asked with.

    `denial` is set for errors too. `ttl` is what is left, `age` how long it is kept, in whole seconds. A `stale` one
    is served after its TTL has ended. `records` counts those of all sections.
    """

    name: bytes
    qtype: int
    qclass: int
    do: bool
    cd: bool
    rcode: int
    denial: bool
    ttl: int
    age: int
    stale: bool
    records: int


@runtime_checkable
class CacheAdmin(Protocol):
    """A plugin with kept answers that can be listed and dropped."""

    def cached(self, name: bytes, *, below: bool) -> Iterable[CacheEntry]:
        """What may be served for this name (wire form, lower case), with `below` for those under it too; in no order.

        What changes while the entries are read may be among them or not.
        """
        ...

    def flush(self, name: bytes, *, below: bool) -> int:
        """Drop them; gives how many. Answers that are on their way meanwhile are not kept."""
        ...
