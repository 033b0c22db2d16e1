"""bufsize: lower the EDNS payload size that clients ask for, against fragments (RFC 6891, RFC 9715).

bufsize [SIZE]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor, parse_int
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.wire.query import Query

_LOWEST: Final = 512
_HIGHEST: Final = 4096


@dataclass(frozen=True, slots=True)
class Config:
    """The largest payload size in bytes that is let through."""

    size: int = 1232


def parse(directive: Directive) -> Config:
    """Raises CorefileError. A second line in a block says nothing, as in CoreDNS."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    if not args:
        return Config()
    # CoreDNS names the plugin twice here.
    refused = cursor.arg_err().with_prefix("plugin/bufsize: ")
    try:
        size = parse_int(args[0])
    except ValueError:
        raise refused from None
    if len(args) > 1 or not _LOWEST <= size <= _HIGHEST:
        raise refused
    return Config(size)


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    site.add(Bufsize(parse(directive).size))


class Bufsize:
    """Caps the size for the plugins behind it and for the reply."""

    name = "bufsize"
    next: Handler

    def __init__(self, size: int) -> None:
        self._size = size

    def serve(self, request: Request) -> Outcome:
        """The query is replaced by one with the smaller size; its bytes stay those that came."""
        query = request.query
        if query.opt is not None and query.opt.udp_size > self._size:
            if request.trace is not None:
                request.note(self.name, f"EDNS size {query.opt.udp_size} -> {self._size}")
            opt = query.opt._replace(udp_size=self._size)
            request.query = Query(query.wire, query.id, query.flags, query.qname, query.qtype, query.qclass, opt)
        return self.next.serve(request)
