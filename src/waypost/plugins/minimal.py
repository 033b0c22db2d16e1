"""minimal: send positive answers without authority and additional section.

minimal
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.wire import consts
from waypost.wire.reply import Reply

_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_NEEDED_IN_AUTHORITY = (consts.TYPE_SOA, consts.TYPE_NS)


@dataclass(frozen=True, slots=True)
class Config:
    """There is nothing to set."""


def parse(directive: Directive) -> Config:
    """Raises CorefileError for any argument."""
    cursor = Cursor(directive)
    cursor.next()
    if cursor.next_arg():
        raise cursor.arg_err()
    return Config()


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    parse(directive)
    site.add(Minimal())


class Minimal:
    """Takes the two sections out of what comes from behind, where they are only a courtesy."""

    name = "minimal"
    next: Handler

    def serve(self, request: Request) -> Outcome:
        """Denials need their SOA, referrals their NS and glue, and transfers are data: they stay as they are."""
        if request.query.qtype in _TRANSFERS or request.query.opcode != consts.OPCODE_QUERY:
            return self.next.serve(request)
        if request.trace is not None:
            request.note(self.name, "authority and additional section of an answer will be left out")
        return then(self.next.serve(request), _shorten)


def _shorten(reply: Reply) -> Reply:
    if not reply.written or reply.rcode != consts.NOERROR:
        return reply
    if not reply.answer and any(record.rtype in _NEEDED_IN_AUTHORITY for record in reply.authority):
        return reply
    if not reply.authority and not reply.additional and reply.opt is None:
        return reply
    return reply.replace(authority=(), additional=(), opt=None)
