"""One name in glibc 2.36: both types over one socket, servers and attempts, and what a lost reply leads to."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from waypost.podside.replies import DROP, NO_REPLY, UNREACHABLE, Reply
from waypost.podside.resolvers.conf import Conf
from waypost.podside.resolvers.lookup import Lookup
from waypost.podside.resolvers.transcript import Send, Transcript, query_name

_NEXT_SERVER: Final = ("SERVFAIL", "NOTIMP", "REFUSED")

Pair: TypeAlias = tuple[tuple[str, Reply], ...]
"""The replies that are used, each with the type it answers, in the order of arrival."""


class Errno(Enum):
    """h_errno of netdb.h."""

    SUCCESS = auto()
    HOST_NOT_FOUND = auto()
    TRY_AGAIN = auto()
    NO_RECOVERY = auto()
    NO_DATA = auto()


_OF_RCODE: Final = {"NXDOMAIN": Errno.HOST_NOT_FOUND, "SERVFAIL": Errno.TRY_AGAIN, "NOERROR": Errno.NO_DATA}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the queries for one name led to. `rcode` is of the reply that came first; `refused`: nobody listens."""

    error: Errno
    pair: Pair = ()
    rcode: str = ""
    refused: bool = False
    name: str = ""

    @property
    def is_servfail(self) -> bool:
        """True for the one failure behind which the search goes on."""
        return self.error is Errno.TRY_AGAIN and self.rcode == "SERVFAIL"


@dataclass(slots=True)
class _Turn:
    """The open sockets of one name, by place in the list of servers, and what was heard so far."""

    name: str
    sockets: dict[int, int] = field(default_factory=dict)
    heard: bool = False
    rcode: str = ""


class Sender:
    """res_query and res_send. The fallbacks that a lost reply switches on stay on for the following names."""

    def __init__(self, conf: Conf, lookup: Lookup, transcript: Transcript) -> None:
        no_aaaa = "no-aaaa" in conf.flags and "AAAA" in lookup.types
        self._types = ("A",) if no_aaaa else lookup.types
        self._for_nothing = no_aaaa and lookup.family == "inet6"  # A is asked instead of AAAA, and thrown away
        self._conf = conf
        self._transcript = transcript
        self._edns = "edns0" in conf.flags
        self._reopens = "single-request-reopen" in conf.flags
        self._one_by_one = self._reopens or "single-request" in conf.flags or len(self._types) == 1

    def query(self, text: str) -> Verdict:
        """Ask for a name until a reply can be used."""
        name = query_name(text)
        if name is None:
            return Verdict(Errno.NO_RECOVERY)
        turn = _Turn(name)
        pair = self._send(turn)
        if not pair:
            return Verdict(Errno.TRY_AGAIN, (), turn.rcode, not turn.heard)
        first, last = pair[0][1], pair[-1][1]
        if first.answers or last.answers:
            return Verdict(Errno.NO_DATA if self._for_nothing else Errno.SUCCESS, pair, first.rcode, name=name)
        rcode = last.rcode if first.rcode == "NOERROR" else first.rcode
        return Verdict(_OF_RCODE.get(rcode, Errno.NO_RECOVERY), pair, first.rcode)

    def _send(self, turn: _Turn) -> Pair:
        """The first replies that can be used. What goes over TCP is tried once with each server."""
        streams = "use-vc" in self._conf.flags
        for _ in range(self._conf.attempts):
            for place in range(len(self._conf.servers)):
                pair = None if streams else self._datagrams(turn, place)
                if pair is None:
                    streams = True
                    pair = self._stream(turn, place)
                if pair:
                    return pair
            if streams:
                break
        return ()

    def _datagrams(self, turn: _Turn, place: int) -> Pair | None:
        """One server's turn over UDP: nothing for the next server, None when a reply was truncated."""
        if not self._one_by_one:
            pair, half = self._both(turn, place)
            if not half:
                return pair
            self._one_by_one = True
        while True:
            pair, half = self._in_turn(turn, place)
            if not half or self._reopens:
                return pair
            self._reopens = True
            turn.sockets.pop(place)

    def _both(self, turn: _Turn, place: int) -> tuple[Pair | None, bool]:
        """Both types at once. True if one can be used and the other was lost."""
        replies = [(qtype, self._ask(turn, qtype, place)) for qtype in self._types]
        if any(reply.rcode == UNREACHABLE for _, reply in replies):
            turn.sockets.pop(place)
            return (), False
        turn.heard = True
        arrived = [(qtype, reply) for qtype, reply in replies if reply.rcode != DROP]
        if arrived:
            turn.rcode = arrived[0][1].rcode
        if any(reply.tc for _, reply in arrived):
            return None, False
        usable = tuple((qtype, reply) for qtype, reply in arrived if not self._is_useless(reply))
        return usable, bool(usable) and len(arrived) < len(replies)

    def _in_turn(self, turn: _Turn, place: int) -> tuple[Pair | None, bool]:
        """One type after the other, or the only one."""
        usable: list[tuple[str, Reply]] = []
        for qtype in self._types:
            if usable and self._reopens:
                turn.sockets.pop(place)
            reply = self._ask(turn, qtype, place)
            if reply.rcode == DROP:
                turn.heard = True
                return tuple(usable), bool(usable)
            if reply.rcode == UNREACHABLE:
                turn.sockets.pop(place)
                return (), False
            turn.heard = True
            turn.rcode = turn.rcode if usable else reply.rcode
            if reply.tc:
                return None, False
            if self._is_useless(reply):
                turn.sockets.pop(place)
                break
            usable.append((qtype, reply))
        return tuple(usable), False

    def _stream(self, turn: _Turn, place: int) -> Pair:
        """Every type over one TCP connection, whatever the RCODE."""
        socket = self._transcript.open()
        server = self._conf.servers[place]
        replies = []
        for qtype in self._types:
            reply = self._transcript.send(Send(turn.name, qtype, server, "tcp", self._edns, socket))
            if reply.rcode in NO_REPLY:
                turn.heard = turn.heard or reply.rcode == DROP
                return ()
            replies.append((qtype, reply))
        turn.heard = True
        return tuple(replies)

    def _ask(self, turn: _Turn, qtype: str, place: int) -> Reply:
        if place not in turn.sockets:
            turn.sockets[place] = self._transcript.open()
        server = self._conf.servers[place]
        return self._transcript.send(Send(turn.name, qtype, server, "udp", self._edns, turn.sockets[place]))

    def _is_useless(self, reply: Reply) -> bool:
        """True for what makes glibc go to the next server. FORMERR is taken for an answer."""
        return reply.rcode in _NEXT_SERVER or reply.is_lame(self._edns)
