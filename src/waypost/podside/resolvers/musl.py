"""musl 1.2.5's getaddrinfo: every server at once, SERVFAIL asked again at once, NODATA ends the search."""

from __future__ import annotations

from collections import deque

from waypost.podside.replies import NO_REPLY, Reply
from waypost.podside.resolvers import local
from waypost.podside.resolvers.conf import Conf, read_musl
from waypost.podside.resolvers.lookup import Lookup, Outcome
from waypost.podside.resolvers.transcript import Send, Transcript, addresses_of, query_name

_ACCEPTED = ("NOERROR", "NXDOMAIN")
_MAX_LENGTH = 254


def resolve(lookup: Lookup, transcript: Transcript) -> Outcome:
    """Do what getaddrinfo does, /etc/hosts first."""
    address = local.libc_literal(lookup.name)
    if address is not None:
        return local.from_literal(address, lookup.types)
    if lookup.name == "localhost":
        return local.from_hosts(lookup.types)
    conf = read_musl(lookup.resolv_conf)
    for name in _candidates(lookup.name, conf):
        outcome = _Exchange(name, lookup.types, conf, transcript).outcome()
        if outcome is not None:
            return outcome
    return Outcome("nxdomain")


def _candidates(text: str, conf: Conf) -> list[str]:
    """The names to ask for: a name with enough dots is never tried with the search list."""
    bare = text.removesuffix(".")
    if not bare or bare.endswith(".") or len(text.encode("utf-8", "surrogateescape")) > _MAX_LENGTH:
        return []
    searches = () if text.endswith(".") or text.count(".") >= conf.ndots else conf.searches
    names = (query_name(each) for each in (*(f"{bare}.{domain}" for domain in searches), bare))
    return [name for name in names if name is not None]


class _Exchange:
    """One name: a socket, a query for each type to each server, repeated until each type has its reply (res_msend)."""

    def __init__(self, name: str, types: tuple[str, ...], conf: Conf, transcript: Transcript) -> None:
        self._name = name
        self._types = types
        self._conf = conf
        self._transcript = transcript
        self._accepted: dict[str, Reply] = {}

    def outcome(self) -> Outcome | None:
        """What ends the search, None if the next name is to be tried."""
        socket = self._transcript.open() if self._rounds() else 0
        for _ in range(self._rounds()):
            if len(self._accepted) < len(self._types):
                self._round(socket)
        for qtype in self._types:
            reply = self._accepted.get(qtype)
            if reply is None or reply.rcode == "SERVFAIL":
                return Outcome("")
            if reply.rcode == "NXDOMAIN":  # of either type: the addresses of the other are lost
                return None
        addresses = addresses_of(list(self._accepted.items()))
        return Outcome("addresses" if addresses else "nodata", addresses, self._name)

    def _rounds(self) -> int:
        """How often it sends within the time for a name: once more than asked for when that does not divide evenly.

        Without attempts the process ends in a division by zero, without time nothing is sent.
        """
        milliseconds = 1000 * self._conf.timeout
        if not self._conf.attempts or not milliseconds:
            return 0
        interval = milliseconds // self._conf.attempts
        return -(-milliseconds // interval)

    def _round(self, socket: int) -> None:
        """Send what has no reply yet to every server, and take the replies in the order in which they come."""
        pending = [qtype for qtype in self._types if qtype not in self._accepted]
        repeats = 2 * len(self._types)
        sends = [Send(self._name, t, server, "udp", False, socket) for t in pending for server in self._conf.servers]
        arrived = deque((send, self._transcript.send(send)) for send in sends)
        while arrived:
            send, reply = arrived.popleft()
            if send.type in self._accepted or reply.rcode in NO_REPLY:
                continue
            if reply.rcode == "SERVFAIL" and repeats:
                repeats -= 1
                arrived.append((send, self._transcript.send(send)))
            elif reply.rcode in _ACCEPTED:
                self._accepted[send.type] = self._stream(send) if reply.tc else reply

    def _stream(self, send: Send) -> Reply:
        """A truncated reply once more over TCP; anything but an answer counts as a failure of the server."""
        reply = self._transcript.send(send._replace(transport="tcp", socket=None))
        return reply if reply.rcode in _ACCEPTED else Reply("SERVFAIL")
