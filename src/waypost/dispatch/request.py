"""One query on its way through a chain, with the facts that plugins ask for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from waypost.dispatch.trace import NOTED, Note, Trace
from waypost.metrics.traffic import Again
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.reply import Reply

if TYPE_CHECKING:
    from waypost.dispatch.ahead import Road
    from waypost.dispatch.serve import Server
    from waypost.dispatch.site import Site

Address = tuple[str, int] | tuple[str, int, int, int]
"""What a socket gives as peer: host and port, and for IPv6 flow and scope."""
Retold = Callable[[bytes, Address, float], None]
"""Takes a query's packet, its client, and how many seconds it took."""


class Request:
    """A query, who sent it, over what, and to which server.

    `query` may be replaced by a plugin that caps the client's EDNS size; a plugin that asks another question makes a
    child with `asking`. `received` is on the `time.perf_counter` clock, in seconds. `depth` counts nested internal
    look-ups. `metadata` is None unless the block collects it. `trace` takes notes while explaining. `asked` is, for a
    child, the question that came into the chain, which access rules must see too. `sign`, if set, makes of each message
    of the reply the one that leaves; a child has it too, as a sign that who asked is known. `repeats` and `retold` are
    lists if the answer may be kept by `dispatch.memo`: plugins that count append to the one how to count more of the
    same, plugins that write of each query to the other how to write of another of the same; a plugin that must see
    every query itself sets `repeats` to None. `road` is how a plugin would send on more of the same, `given` what came
    of that for this query (see `dispatch.ahead`).
    """

    __slots__ = (
        "asked",
        "client",
        "datagram",
        "depth",
        "given",
        "local",
        "metadata",
        "query",
        "received",
        "repeats",
        "retold",
        "road",
        "server",
        "sign",
        "site",
        "trace",
    )

    def __init__(
        self,
        query: Query,
        client: Address,
        server: Server,
        datagram: bool,
        received: float,
        local: Address | None = None,
    ) -> None:
        self.query = query
        self.client = client
        self.server = server
        self.datagram = datagram
        self.received = received
        self.local = local
        self.asked: Query | None = None
        self.repeats: list[Callable[[Again], None]] | None = None
        self.retold: list[Retold] | None = None
        self.road: Road | None = None
        self.given: object = None
        self.sign: Callable[[bytes], bytes] | None = None
        self.site: Site | None = None
        self.metadata: dict[str, Callable[[], str]] | None = None
        self.trace: Trace | None = None
        self.depth = 0

    @property
    def name(self) -> bytes:
        """The name asked for in wire form and lower case."""
        return self.query.name

    @property
    def client_ip(self) -> str:
        """The client's address in text, without a scope id."""
        return self.client[0].partition("%")[0]

    @property
    def is_v6(self) -> bool:
        """True for an IPv6 client."""
        return ":" in self.client[0]

    @property
    def protocol(self) -> str:
        """`udp` for datagram transports (UDP, QUIC), else `tcp`."""
        return "udp" if self.datagram else "tcp"

    @property
    def local_ip(self) -> str:
        """The address the query came to: `::` for a datagram on an unbound listener."""
        return self.local[0] if self.local is not None else self.server.host or "::"

    @property
    def local_port(self) -> str:
        """The port the query came to."""
        return self.server.port

    def asking(self, qname: bytes, qtype: int, qclass: int = consts.CLASS_IN) -> Request:
        """The same client asking another question: what a rewriting plugin hands to the next one."""
        return self.with_query(self.query.asking(qname, qtype, qclass))

    def with_query(self, query: Query) -> Request:
        """The same for a query that is made already."""
        child = Request(query, self.client, self.server, self.datagram, self.received, self.local)
        child.asked = self.asked or self.query
        child.sign = self.sign
        child.site = self.site
        child.metadata = self.metadata
        child.trace = self.trace
        child.depth = self.depth
        return child

    def lookup(self, qname: bytes, qtype: int) -> Reply | Awaitable[Reply]:
        """Ask the whole server another question on behalf of this client (CNAME targets, DNS64, prefetch).

        The reply is what the client would get; a chain that wrote nothing gives the server's error reply.
        """
        return self.server.lookup(self, qname, qtype)

    def note(self, plugin: str, text: str, step: str = NOTED, *objects: str, version: str = "") -> None:
        """Record a decision while explaining, see `Note`; callers test `trace` first where the text costs."""
        if self.trace is not None:
            self.trace.notes.append(Note(plugin, text, step, objects, version, self.depth))
