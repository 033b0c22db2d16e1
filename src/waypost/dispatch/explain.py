"""One question asked of a server to learn how it is answered: the real chain with a trace, and without the memo.

The steps are those of `Server.serve`. The plugins do all they do for a client, so caches fill and upstreams are asked;
only `prometheus` and `log` leave such a query out, since no client has asked it.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import Iterable
from typing import Final, NamedTuple

from waypost.dispatch.handler import NOBODY, settled
from waypost.dispatch.request import Address, Request
from waypost.dispatch.serve import Server
from waypost.dispatch.trace import ANSWERED, Note, Trace
from waypost.wire import consts, names
from waypost.wire.errors import Rejected
from waypost.wire.fit import pack
from waypost.wire.query import Query, parse_query
from waypost.wire.reply import Reply, copied_flags, failure

PLUGIN: Final = "server"
"""Stands in notes for the server itself."""
# Longer than any plugin waits.
_SECONDS: Final = 15.0
_CLIENT_PORT: Final = 53535
_PORT: Final = "53"
_SCHEME: Final = "dns://"


class Explained(NamedTuple):
    """How one query was answered: on which listen address, by which block (empty: none), in how many seconds.

    `wire` is the message that a client would get, None for silence.
    """

    server: str
    block: str
    notes: tuple[Note, ...]
    wire: bytes | None
    seconds: float

    def as_json(self) -> dict[str, object]:
        """The same for JSON: the message in base64, notes as objects, milliseconds."""
        return {
            "server": self.server,
            "block": self.block,
            "notes": [note._asdict() for note in self.notes],
            "message": None if self.wire is None else b64encode(self.wire).decode(),
            "milliseconds": round(self.seconds * 1000, 3),
        }


def client_address(ip: str) -> Address:
    """What a socket would give as peer."""
    return (ip, _CLIENT_PORT, 0, 0) if ":" in ip else (ip, _CLIENT_PORT)


def plain_server(servers: Iterable[Server]) -> Server | None:
    """The one that pods ask: plain DNS, port 53 if there is one, not bound to an address if there is one."""
    plain = [server for server in servers if server.label.startswith(_SCHEME)]
    return min(plain, key=lambda server: (server.port != _PORT, bool(server.host)), default=None)


async def explain(
    server: Server, wire: bytes, client: Address, *, datagram: bool = True, offline: bool = False
) -> Explained:
    """Answer a packet as for this client, and tell how; `offline`: without asking upstreams."""
    started = time.perf_counter()
    trace = Trace(offline=offline)
    try:
        query = parse_query(wire)
    except Rejected as rejected:
        return Explained(server.label, "", (Note(PLUGIN, "this is no query", ANSWERED),), rejected.reply, 0.0)
    if query.opt is not None and query.opt.udp_size > server.max_udp_size:
        query.opt = query.opt._replace(udp_size=server.max_udp_size)
    request = Request(query, client, server, datagram, started)
    request.trace = trace
    reply = await _reply(request, trace)
    packed = None
    if reply.written or reply.rcode:
        packed = pack(query, _written(query, reply), datagram=datagram, v6=datagram and request.is_v6)
    block = request.site.title if request.site is not None else ""
    return Explained(server.label, block, tuple(trace.notes), packed, time.perf_counter() - started)


async def _reply(request: Request, trace: Trace) -> Reply:
    """What the block's chain says, or what the server says in its place."""
    server = request.server
    try:
        site = server.zones.match(request)
        if site is None or site.chain is None:
            zones = " ".join(map(names.to_text, server.zones.zones()))
            request.note(PLUGIN, f"no server block takes this query; the zones here are {zones}", ANSWERED)
            return failure(consts.REFUSED)
        request.site = site
        request.note(PLUGIN, f"the block {site.title} takes the query")
        async with asyncio.timeout(_SECONDS):
            reply = await settled(site.chain.serve(request))
    except TimeoutError:
        request.note(PLUGIN, f"no answer within {_SECONDS:g} s", ANSWERED)
        return failure(consts.NOERROR)
    except Exception as exc:  # as for a client: SERVFAIL
        request.note(PLUGIN, f"a fault in a plugin: {type(exc).__name__}: {exc}", ANSWERED)
        return failure(consts.SERVFAIL)
    if reply.error.endswith(NOBODY):
        request.note(PLUGIN, "no plugin of the block answers this name", ANSWERED)
    elif reply.error and not any(note.step == ANSWERED for note in trace.notes):
        request.note(PLUGIN, f"a plugin failed: {reply.error}", ANSWERED)
    return reply


def _written(query: Query, reply: Reply) -> Reply:
    return reply if reply.written else Reply(reply.rcode, copied_flags(query))
