"""nsid: tell clients that ask for it which server answered (RFC 5001).

nsid [DATA...]
"""

from __future__ import annotations

import socket
from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.wire import consts
from waypost.wire.edns import DO, Opt, Option
from waypost.wire.reply import Reply


@dataclass(frozen=True, slots=True)
class Config:
    """The identifier; None stands for the host's name."""

    data: str | None = None


def parse(directive: Directive) -> Config:
    """Raises CorefileError for a second line. Words are joined by one blank."""
    cursor = Cursor(directive)
    configs = [Config(" ".join(args) if args else None) for args in cursor.occurrences()]
    if len(configs) > 1:
        raise CorefileError.unlocated("this plugin can only be used once per Server Block")
    return configs[0]


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    config = parse(directive)
    data = socket.gethostname() or "localhost" if config.data is None else config.data
    site.add(Nsid(data.encode()))


class Nsid:
    """Puts the identifier into replies to queries that carry the option."""

    name = "nsid"
    next: Handler

    def __init__(self, data: bytes) -> None:
        self._option = Option(consts.EDNS_NSID, data)

    def serve(self, request: Request) -> Outcome:
        """A query without the option is passed on untouched."""
        opt = request.query.opt
        if opt is None or not any(option.code == consts.EDNS_NSID for option in opt.options):
            return self.next.serve(request)
        request.note(self.name, "the client asks which server answers, and will be told")
        return then(self.next.serve(request), self._identify)

    def _identify(self, reply: Reply) -> Reply:
        if not reply.written:
            return reply
        made = reply.opt or Opt(0, 0, DO)  # the size sent is the client's own
        others = tuple(option for option in made.options if option.code != consts.EDNS_NSID)
        return reply.replace(opt=made._replace(options=(*others, self._option)))
