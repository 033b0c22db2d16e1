"""chaos: answer the CH TXT questions by which servers are told apart (RFC 4892).

chaos [VERSION [AUTHORS...]]
"""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass
from typing import Final

from waypost import __version__
from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.wire import consts, names
from waypost.wire.record import txt
from waypost.wire.reply import Reply, copied_flags

_MAX_TEXT: Final = 255
_VERSION: Final = tuple(map(names.from_text, ("version.bind", "version.server")))
_AUTHORS: Final = names.from_text("authors.bind")
_HOST: Final = tuple(map(names.from_text, ("hostname.bind", "id.server")))


@dataclass(frozen=True, slots=True)
class Config:
    """What to say; authors without repetitions."""

    version: str = f"Waypost-{__version__}"
    authors: tuple[str, ...] = ("The Waypost authors",)


def parse(directive: Directive) -> Config:
    """The first line counts, as in CoreDNS. Raises CorefileError for a block."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    for name, _ in cursor.options():
        raise cursor.err(f"unknown property '{name}'")
    if len(args) > 1:
        return Config(args[0], tuple(sorted(set(args[1:]))))
    return Config(args[0]) if args else Config()


def setup(directive: Directive, site: Site) -> None:
    """Add the handler."""
    config = parse(directive)
    site.add(Chaos(config, socket.gethostname() or "localhost"))


class Chaos:
    """Version, authors and host name as TXT records in class CH."""

    name = "chaos"
    next: Handler

    def __init__(self, config: Config, host: str) -> None:
        version, named = _cut(config.version), _cut(host)
        self._single = {**dict.fromkeys(_VERSION, version), **dict.fromkeys(_HOST, named)}
        self._authors = [_cut(author) for author in config.authors]

    def serve(self, request: Request) -> Outcome:
        """Other names, types and classes are passed on. Authors come in random order."""
        query = request.query
        if query.qclass != consts.CLASS_CH or query.qtype != consts.TYPE_TXT:
            return self.next.serve(request)
        if query.name == _AUTHORS:
            texts = random.sample(self._authors, len(self._authors))
        elif query.name in self._single:
            texts = [self._single[query.name]]
        else:
            return self.next.serve(request)
        request.note(self.name, "a question for the server itself", ANSWERED)
        records = tuple(txt(query.qname, 0, text)._replace(rclass=consts.CLASS_CH) for text in texts)
        return Reply(consts.NOERROR, copied_flags(query), records)


def _cut(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")[:_MAX_TEXT]
