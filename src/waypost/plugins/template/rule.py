"""One `template` of a block: which queries it takes and what it makes of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from waypost.toolkit.gotemplate.template import Template
from waypost.toolkit.regexp import Regexp
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import consts
from waypost.wire.edns import Option
from waypost.wire.query import Query


class Pattern(NamedTuple):
    """A regular expression as written, and compiled."""

    text: str
    compiled: Regexp


@dataclass(frozen=True, slots=True)
class Rule:
    """Class and type may be ANY; `zones` are the arguments, none for the block's own zones."""

    qclass: int
    qtype: int
    zones: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    answer: tuple[Template, ...] = ()
    additional: tuple[Template, ...] = ()
    authority: tuple[Template, ...] = ()
    rcode: int = consts.NOERROR
    extended_error: Option | None = None
    fall: ZoneList = field(default_factory=ZoneList)

    def takes(self, query: Query) -> bool:
        """Whether class and type fit; ANY on either side fits."""
        return (self.qclass in (query.qclass, consts.CLASS_ANY) or query.qclass == consts.CLASS_ANY) and (
            self.qtype in (query.qtype, consts.TYPE_ANY) or query.qtype == consts.TYPE_ANY
        )
