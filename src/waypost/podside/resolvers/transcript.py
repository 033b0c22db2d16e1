"""The queries that leave a stub resolver: who is asked what through which socket, and what comes back."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias, TypeVar

from waypost.podside.replies import Answer, Asked, Reply

MAX_LABEL: Final = 63
MAX_NAME: Final = 253
_MAX_QUERIES: Final = 10_000

T = TypeVar("T")


class TooManyQueries(Exception):
    """A resolv.conf with which a resolver sends more queries than anybody wants to see (`attempts:1000000`)."""


class Query(NamedTuple):
    """A query that was sent. `socket` counts the client's sockets from 0; `reply` is an RCODE, DROP or UNREACHABLE."""

    name: str
    type: str
    server: str
    transport: str
    socket: int
    edns: bool
    reply: str
    truncated: bool = False


class Send(NamedTuple):
    """What a step of a resolver wants to send. A socket of None is a new one."""

    name: str
    type: str
    server: str
    transport: str = "udp"
    edns: bool = True
    socket: int | None = None


Steps: TypeAlias = Generator[Send, Reply, T]
"""The queries for one name and type, each yielded when the reply to the one before is there."""


class Transcript:
    """Sends queries and keeps them in order."""

    def __init__(self, answer: Answer) -> None:
        self.queries: list[Query] = []
        self._answer = answer
        self._sockets = 0

    def open(self) -> int:
        """A new socket."""
        self._sockets += 1
        return self._sockets - 1

    def send(self, send: Send) -> Reply:
        """Send one query; a truncated reply is empty. Raises TooManyQueries."""
        if len(self.queries) >= _MAX_QUERIES:
            raise TooManyQueries(f"more than {_MAX_QUERIES} queries for one name")
        socket = self.open() if send.socket is None else send.socket
        reply = self._answer(Asked(send.name, send.type, send.server, send.transport, send.edns))
        truncated = reply.tc and send.transport == "udp"
        reply = replace(reply, records=()) if truncated else replace(reply, tc=False)
        self.queries.append(
            Query(send.name, send.type, send.server, send.transport, socket, send.edns, reply.rcode, truncated)
        )
        return reply

    def run(self, steps: Steps[T]) -> T:
        """Send what one generator wants to, to its end."""
        return self.together([steps])[0]

    def together(self, group: Sequence[Steps[T]]) -> list[T]:
        """Run several side by side: the first query of each, the second of each, and so on."""
        results: dict[int, T] = {}
        waiting: list[tuple[int, Steps[T], Reply | None]] = [(place, steps, None) for place, steps in enumerate(group)]
        while waiting:
            going: list[tuple[int, Steps[T], Reply | None]] = []
            for place, steps, reply in waiting:
                try:
                    send = next(steps) if reply is None else steps.send(reply)
                except StopIteration as stop:
                    results[place] = stop.value
                else:
                    going.append((place, steps, self.send(send)))
            waiting = going
        return [results[place] for place in range(len(group))]


def query_name(text: str) -> str | None:
    """A name as it goes out, with its final dot; None if no message can carry it (RFC 1035 section 2.3.4)."""
    bare = text.removesuffix(".")
    if not bare:
        return "." if text else None
    raw = bare.encode("utf-8", "surrogateescape")
    fits = len(raw) <= MAX_NAME and all(0 < len(label) <= MAX_LABEL for label in raw.split(b"."))
    return f"{bare}." if fits else None


def addresses_of(replies: Sequence[tuple[str, Reply]]) -> tuple[str, ...]:
    """The addresses in replies to queries of a type, in order, whoever owns them: CNAME chains were followed for us."""
    return tuple(record.data for qtype, reply in replies for record in reply.records if record.type == qtype)
