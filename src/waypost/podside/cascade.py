"""Which queries a stub resolver sends for a name, in which order, and what comes of them.

The resolvers follow glibc 2.36, musl 1.2.5, Go 1.27 (without cgo) and c-ares 1.34, in a container whose /etc/hosts has
`localhost` and whose nsswitch.conf says `hosts: files dns`. `rotate` starts with the first server here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from waypost.podside.replies import DROP, UNREACHABLE, Answer
from waypost.podside.resolvers import cares, glibc, go, musl
from waypost.podside.resolvers.lookup import Lookup, Outcome
from waypost.podside.resolvers.transcript import Query, Transcript

RESOLVERS: Final[Mapping[str, Callable[[Lookup, Transcript], Outcome]]] = {
    "glibc": glibc.resolve,
    "musl": musl.resolve,
    "go": go.resolve,
    "c-ares": cares.resolve,
}
_FAILURES: Final = {
    DROP: "timeout",
    "SERVFAIL": "servfail",
    "REFUSED": "refused",
    "FORMERR": "formerr",
    "NOTIMP": "notimp",
    UNREACHABLE: "unreachable",
}
"""What is said of a look-up that failed, by the first of these among the replies."""


@dataclass(frozen=True, slots=True)
class Cascade:
    """The queries of one look-up in order, and its end.

    `result` is `addresses`, `nxdomain`, `nodata`, a failure (`timeout`, `servfail`, `refused`, `formerr`, `notimp`,
    `unreachable`), or `unanswered` when nothing was asked. Addresses are sorted, IPv4 first. `name` is what decided.
    """

    queries: tuple[Query, ...]
    result: str
    addresses: tuple[str, ...] = ()
    name: str = ""

    @property
    def wasted(self) -> int:
        """How many queries did nothing for the result: all but one of each type for the name that decided."""
        return len(self.queries) - len({query.type for query in self.queries if query.name == self.name})

    @property
    def conntrack_entries(self) -> int:
        """How many flows a node's connection tracking has to remember: one for each socket and server."""
        return len({(query.socket, query.server) for query in self.queries})


def cascade(lookup: Lookup, resolver: str, answer: Answer) -> Cascade:
    """Follow one look-up of a resolver of RESOLVERS. Raises TooManyQueries, and what `answer` raises."""
    transcript = Transcript(answer)
    outcome = RESOLVERS[resolver](lookup, transcript)
    queries = tuple(transcript.queries)
    addresses = tuple(sorted(set(outcome.addresses), key=lambda address: (":" in address, address)))
    return Cascade(queries, outcome.result or _failure(queries), addresses, outcome.name or _own(lookup, queries))


def _failure(queries: tuple[Query, ...]) -> str:
    replies = {query.reply for query in queries}
    return next((text for reply, text in _FAILURES.items() if reply in replies), "unanswered")


def _own(lookup: Lookup, queries: tuple[Query, ...]) -> str:
    """The name as it was given if it was asked for, else the last one."""
    own = f"{lookup.name.removesuffix('.')}."
    return own if any(query.name == own for query in queries) else queries[-1].name if queries else ""
