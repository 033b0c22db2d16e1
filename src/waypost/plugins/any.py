"""any: answer ANY with one small record instead of everything there is (RFC 8482).

any
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.wire import consts
from waypost.wire.record import Record
from waypost.wire.reply import Reply, copied_flags

_TTL: Final = 8482
_HINFO: Final = b"\x0dANY obsoleted\x0cSee RFC 8482"


@dataclass(frozen=True, slots=True)
class Config:
    """There is nothing to set; `stray` are arguments that old versions took and passed over."""

    stray: tuple[str, ...] = ()


def parse(directive: Directive) -> Config:
    """Raises CorefileError for a block."""
    cursor = Cursor(directive)
    cursor.next()
    stray = cursor.remaining_args()
    for name, _ in cursor.options():
        raise cursor.err(f"unknown property '{name}'")
    return Config(tuple(stray))


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    config = parse(directive)
    if config.stray:
        site.log.warning(f"any takes no arguments, found: {' '.join(config.stray)}")
    site.add(Any())


class Any:
    """Every name has this HINFO record for ANY."""

    name = "any"
    next: Handler

    def serve(self, request: Request) -> Outcome:
        """HINFO in class IN for ANY in any class; without AA, for no data was looked at."""
        query = request.query
        if query.qtype != consts.TYPE_ANY:
            return self.next.serve(request)
        request.note(self.name, "ANY is answered with one HINFO record (RFC 8482)", ANSWERED)
        record = Record(query.qname, consts.TYPE_HINFO, consts.CLASS_IN, _TTL, _HINFO)
        return Reply(consts.NOERROR, copied_flags(query), (record,))
