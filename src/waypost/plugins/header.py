"""header: set or clear header bits of queries on their way in and of replies on their way out.

    header {
        query|response set|clear FLAG...
    }

FLAG is aa, ra or rd.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.reply import Reply

_FLAGS: Final = {"aa": consts.AA, "ra": consts.RA, "rd": consts.RD}


@dataclass(frozen=True, slots=True)
class Change:
    """Header bits to set and to clear; no bit is in both."""

    on: int = 0
    off: int = 0

    def setting(self, bits: int) -> Change:
        """This change and then these bits set."""
        return Change(self.on | bits, self.off & ~bits)

    def clearing(self, bits: int) -> Change:
        """This change and then these bits cleared."""
        return Change(self.on & ~bits, self.off | bits)

    def apply(self, flags: int) -> int:
        """The header bits after the change."""
        return flags & ~self.off | self.on


_NOTHING: Final = Change()


@dataclass(frozen=True, slots=True)
class Config:
    """All rules of one direction in one change: the last word on a bit wins."""

    query: Change = _NOTHING
    response: Change = _NOTHING


def parse(directive: Directive) -> Config:
    """The first occurrence that has rules counts, as in CoreDNS. Raises CorefileError."""
    cursor = Cursor(directive)
    for _ in cursor.occurrences():
        query = response = _NOTHING
        for name, values in cursor.options():
            selector = name.lower()
            if selector == "query":
                query = _with_rule(query, values)
            elif selector == "response":
                response = _with_rule(response, values)
            else:
                raise _refused(f"invalid selector={selector} should be query or response")
        if query != _NOTHING or response != _NOTHING:
            return Config(query, response)
    raise cursor.arg_err()


def _with_rule(change: Change, values: list[str]) -> Change:
    if not values:
        raise _refused("no flag action provided")
    action, texts = values[0].lower(), [text.lower() for text in values[1:]]
    if not texts:
        raise _refused("invalid length for flags, at least one should be provided")
    if action not in ("set", "clear"):
        raise _refused(f"unknown flag action={action}, should be set or clear")
    for text in texts:
        if text not in _FLAGS:
            raise _refused(f"unknown/unsupported flag={text}")
        change = change.setting(_FLAGS[text]) if action == "set" else change.clearing(_FLAGS[text])
    return change


def _refused(text: str) -> CorefileError:
    return CorefileError.unlocated(f"setting up rule: {text}")


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    site.add(Header(parse(directive)))


class Header:
    """Changes the query for the plugins behind it, and their replies."""

    name = "header"
    next: Handler

    def __init__(self, config: Config) -> None:
        self._query = config.query
        self._response = config.response

    def serve(self, request: Request) -> Outcome:
        """What nobody wrote, such as the server's own SERVFAIL, keeps its bits."""
        if self._query != _NOTHING:
            request.query = _changed(request.query, self._query)
            if request.trace is not None:
                request.note(self.name, "header bits of the query changed")
        if self._response == _NOTHING:
            return self.next.serve(request)
        if request.trace is not None:
            request.note(self.name, "header bits of the reply will be changed")
        return then(self.next.serve(request), self._change)

    def _change(self, reply: Reply) -> Reply:
        return reply.replace(flags=self._response.apply(reply.flags)) if reply.written else reply


def _changed(query: Query, change: Change) -> Query:
    flags = change.apply(query.flags)
    wire = query.wire[:2] + flags.to_bytes(2, "big") + query.wire[4:]
    return Query(wire, query.id, flags, query.qname, query.qtype, query.qclass, query.opt)
