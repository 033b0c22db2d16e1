"""whoami: answer with the client's address, port and transport.

whoami
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.wire import addr
from waypost.wire.names import MAX_NAME, ROOT
from waypost.wire.record import Records, address, srv
from waypost.wire.reply import authoritative


@dataclass(frozen=True, slots=True)
class Config:
    """There is nothing to set."""


def parse(directive: Directive) -> Config:
    """Raises CorefileError for any argument."""
    cursor = Cursor(directive)
    cursor.next()
    if cursor.remaining_args():
        raise cursor.arg_err()
    return Config()


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    parse(directive)
    site.add(Whoami())


class Whoami:
    """Every name of every type exists and has the client's address in the additional section."""

    name = "whoami"
    next: Handler

    def serve(self, request: Request) -> Outcome:
        """Address record with the question's name, and SRV with the port at `_udp.` or `_tcp.` of it."""
        query = request.query
        request.note(self.name, "every name exists and tells the client's own address", ANSWERED)
        packed = addr.pack(request.client_ip) or b"\x00" * 4
        label = b"\x04_udp" if request.datagram else b"\x04_tcp"
        records: Records = (address(query.qname, 0, packed)._replace(rclass=query.qclass),)
        if len(label) + len(query.qname) <= MAX_NAME:
            port = srv(label + query.qname, 0, 0, 0, request.client[1], ROOT)
            records += (port._replace(rclass=query.qclass),)
        return authoritative(query, additional=records)
