"""What tsig does with a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.serve import Server
from waypost.dispatch.trace import ANSWERED
from waypost.toolkit.tsig import BADKEY, Signature, Signer, find, verify, without
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts
from waypost.wire.errors import FormErr
from waypost.wire.fit import pack, size_limit
from waypost.wire.query import Query
from waypost.wire.reply import Reply, copied_flags, failure


class Tsig:
    """Verifies signatures, refuses queries without one where one is demanded, and has replies signed.

    `types` and `opcodes` are those that must be signed, None for all. Keys of every tsig on the listener are good.
    """

    __slots__ = ("_keys", "_now", "_opcodes", "_types", "_zones", "name", "next", "secrets")

    next: Handler

    def __init__(
        self,
        zones: ZoneList,
        secrets: Mapping[bytes, bytes],
        types: frozenset[int] | None,
        opcodes: frozenset[int] | None,
        now: Callable[[], float],
    ) -> None:
        self.name = "tsig"
        self.secrets = secrets
        self._zones = zones
        self._types = types
        self._opcodes = opcodes
        self._now = now
        self._keys: dict[Server, Mapping[bytes, bytes]] = {}

    def serve(self, request: Request) -> Outcome:
        """Plugins behind see the query without its signature; the server has every reply signed, its own too."""
        query = request.query
        if not self._zones.covers(query.name):
            return self.next.serve(request)
        try:
            signature = find(query.wire, query.end)
        except FormErr:
            return failure(consts.FORMERR)
        if signature is None:
            # An internal look-up is asked on behalf of a client that is known or not.
            known = request.depth > 0 and request.sign is not None
            if known or not self._demands(query):
                return self.next.serve(request)
            request.note(self.name, "refused: queries must be signed here", ANSWERED)
            return Reply(consts.REFUSED, copied_flags(query))
        secrets = self._secrets(request.server)
        error = verify(query.wire, signature, secrets, self._now())
        bare = without(query.wire, signature)
        request.query = Query(bare, query.id, query.flags, query.qname, query.qtype, query.qclass, query.opt)
        request.sign = self._signing(request, signature, b"" if error == BADKEY else secrets[signature.key_name], error)
        if error:
            request.note(self.name, f"the signature does not hold: error {error}", ANSWERED)
            return Reply(consts.NOTAUTH, copied_flags(query))
        return self.next.serve(request)

    def _demands(self, query: Query) -> bool:
        types, opcodes = self._types, self._opcodes
        return types is None or query.qtype in types or opcodes is None or query.opcode in opcodes

    def _secrets(self, server: Server) -> Mapping[bytes, bytes]:
        """The keys of all server blocks there, this one's first."""
        secrets = self._keys.get(server)
        if secrets is None:
            merged: dict[bytes, bytes] = {}
            for site in server.zones.all_sites():
                for handler in site.handlers.get(self.name, ()):
                    if isinstance(handler, Tsig):
                        merged.update(handler.secrets)
            secrets = self._keys[server] = {**merged, **self.secrets}
        return secrets

    def _signing(self, request: Request, asked: Signature, secret: bytes, error: int) -> Callable[[bytes], bytes]:
        """A reply that its signature makes too long for a datagram leaves without records (RFC 8945 section 5.3)."""
        query = request.query
        signer = Signer(asked, secret, error, self._now)
        if not request.datagram:
            return signer
        limit = size_limit(query, datagram=True)

        def sign(wire: bytes) -> bytes:
            signed = signer(wire)
            if len(signed) <= limit:
                return signed
            flags = int.from_bytes(wire[2:4], "big")
            kept = flags & ~(consts.QR | consts.OPCODE_MASK | consts.RCODE_MASK)
            empty = Reply(flags & consts.RCODE_MASK, kept | consts.TC)
            return Signer(asked, secret, error, self._now)(pack(query, empty, datagram=True))

        return sign
