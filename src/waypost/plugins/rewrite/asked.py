"""The question while rules change it, and what a rule is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from waypost.dispatch.handler import Outcome
from waypost.dispatch.request import Request
from waypost.wire import consts
from waypost.wire.edns import ECHOED, Opt
from waypost.wire.reply import Reply

Revert = Callable[[Reply], Outcome]
"""What is done to the reply of a question that a rule has fitted."""


class Asked:
    """A question, changed in place. `qname` has the case as sent, `name` is in lower case, until a rule sets both."""

    __slots__ = ("name", "opt", "qclass", "qname", "qtype", "request")

    def __init__(self, request: Request) -> None:
        query = request.query
        self.request = request
        self.qname = query.qname
        self.name = query.name
        self.qtype = query.qtype
        self.qclass = query.qclass
        self.opt = query.opt

    def rename(self, name: bytes) -> None:
        """Ask for another name, given in lower case."""
        self.qname = self.name = name

    def child(self) -> Request:
        """The request with this question, for the next plugin; the one that came if nothing was changed."""
        query = self.request.query
        kind = (self.qtype, self.qclass)
        if self.qname is query.qname and self.opt is query.opt and kind == (query.qtype, query.qclass):
            return self.request
        child = self.request.asking(self.qname, self.qtype, self.qclass)
        child.query.opt = self.opt
        return child


class Rule(Protocol):
    """One rule."""

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """Change the question; gives what to do with its reply, None if the rule does not fit. Raises BadName."""
        ...


def with_opt(reply: Reply, sent: Opt, codes: frozenset[int]) -> Reply:
    """The reply with the OPT that answers the one that rules made, as if the client had sent that one.

    Of options that nobody answered, those with `codes` come back as they were sent.
    """
    if not reply.written:
        return reply
    made = reply.opt
    if made is None:
        kept = tuple(option for option in sent.options if option.code in codes or option.code in ECHOED)
        made = Opt(sent.udp_size, 0, sent.flags & 0xFF00, kept)
    return reply.replace(opt=made._replace(udp_size=sent.udp_size, flags=made.flags & 0xFF00))


def with_rcode(reply: Reply, old: int, new: int, asked: Asked) -> Reply:
    """The reply with another rcode if it has the old one; an error that no plugin wrote becomes a message so."""
    if reply.rcode != old:
        return reply
    if reply.written:
        return reply.replace(rcode=new)
    if reply.rcode == consts.NOERROR:  # silence stays silence
        return reply
    return reply.replace(rcode=new, flags=asked.request.query.flags & consts.COPIED, written=True)
