"""autopath: walk a client's search path for it, so that one query does for many.

autopath [ZONES...] RESOLV-CONF|@PLUGIN
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.handler import NOBODY, AutoPath, Handler, Outcome, settled
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.metrics.registry import CounterFamily
from waypost.toolkit.resolvconf import search_domains
from waypost.toolkit.zonelist import ZoneList, zones_of
from waypost.wire import consts, names
from waypost.wire.record import cname
from waypost.wire.reply import Reply, failure

SearchPath = Callable[[Request], Sequence[bytes]]
"""Search domains for a client in wire form and lower case, the root last; none: the query is left alone."""

# Without a message these outcomes only say that a candidate was not for anybody.
_SKIPPED = frozenset((consts.FORMERR, consts.SERVFAIL, consts.NOTIMP, consts.REFUSED))


@dataclass(frozen=True, slots=True)
class Config:
    """`source` is a file in the form of resolv.conf(5), or `@` and a plugin's name."""

    zones: ZoneList
    source: str


def parse(directive: Directive, zones: tuple[bytes, ...]) -> Config:
    """Read the directive; `zones` are the block's own. Of several occurrences the last counts. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config(ZoneList(), "")
    for args in cursor.occurrences():
        if not args:
            raise CorefileError.unlocated("no resolv-conf specified")
        for _ in cursor.options():
            raise cursor.arg_err()
        config = Config(zones_of(args[:-1], zones), args[-1])
    return config


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; a file is read now, a plugin is looked for when all of the block are there."""
    config = parse(directive, site.zones)
    won = site.metrics.counter("coredns_autopath_success_total", "Counter of requests that did autopath.", ("server",))
    if config.source.startswith("@"):
        client_path = ClientPath(site, config.source[1:])
        site.hooks.start.append(client_path.check)
        site.add(Walker(config.zones, client_path, won))
    else:
        path = [*read_search(site.path(config.source)), names.ROOT]
        site.add(Walker(config.zones, lambda request: path, won))


def read_search(path: str) -> tuple[bytes, ...]:
    """The search list of a file. Raises CorefileError."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return search_domains(file.read())
    except OSError as exc:
        reason = (exc.strerror or str(exc)).lower()
        raise CorefileError.unlocated(f"failed to parse {quote(path)}: open {path}: {reason}") from exc


class ClientPath:
    """The search path that another plugin of the block knows for a client."""

    __slots__ = ("_name", "_provider", "_site")

    def __init__(self, site: Site, name: str) -> None:
        self._site = site
        self._name = name
        self._provider: AutoPath | None = None

    def check(self) -> None:
        """Find the plugin; a block may be without it. Raises CorefileError if it knows no search paths."""
        for handler in self._site.handlers.get(self._name, ()):
            if not isinstance(handler, AutoPath):
                text = f"plugin/autopath: {self._name} does not implement the AutoPather interface"
                raise CorefileError.unlocated(text)
            self._provider = handler

    def __call__(self, request: Request) -> Sequence[bytes]:
        return self._provider.autopath(request) if self._provider is not None else ()


class Walker:
    """The handler: a name below the first search domain is tried in every domain until one knows it."""

    __slots__ = ("_path", "_won", "_zones", "name", "next")

    next: Handler

    def __init__(self, zones: ZoneList, path: SearchPath, won: CounterFamily) -> None:
        self.name = "autopath"
        self._zones = zones
        self._path = path
        self._won = won

    def serve(self, request: Request) -> Outcome:
        """The first reply that is not NXDOMAIN; if all are, the one to the question as it was sent."""
        name = request.name
        path = self._path(request) if self._zones.covers(name) else ()
        if not path or not names.is_within(name, path[0]):
            if request.trace is not None:
                request.note(self.name, "no search path: not the first name of a known client's search list")
            return self.next.serve(request)
        base = names.relative(request.query.qname, path[0])
        if not base:
            return failure(consts.SERVFAIL, "the search domain itself has no name to search for")
        if request.trace is not None:
            request.note(self.name, f"walks the client's search path {' '.join(map(names.to_text, path))}")
        candidates = iter([base + domain for domain in path if len(base) + len(domain) <= names.MAX_NAME])
        return self._walk(request, candidates, None)

    def _walk(self, request: Request, candidates: Iterator[bytes], first: Reply | None) -> Outcome:
        for candidate in candidates:
            # The first one is the question itself, which keeps the client's spelling.
            asked = request if first is None else request.asking(candidate, request.query.qtype, request.query.qclass)
            if request.trace is not None:
                request.note(self.name, f"tries {names.to_text(candidate)}")
            outcome = self.next.serve(asked)
            if not isinstance(outcome, Reply):
                return self._walk_later(request, outcome, candidates, first)
            if _ends(outcome):
                return self._ended(request, outcome)
            first = first or outcome
        assert first is not None
        return first

    async def _walk_later(
        self, request: Request, waiting: Awaitable[Reply], candidates: Iterator[bytes], first: Reply | None
    ) -> Reply:
        reply = await waiting
        if _ends(reply):
            return self._ended(request, reply)
        return await settled(self._walk(request, candidates, first or reply))

    def _ended(self, request: Request, reply: Reply) -> Reply:
        if not reply.written:
            return reply
        self._won.labels(request.server.label).inc()
        asked = request.query.qname
        answer = reply.answer
        for record in answer:
            if record.owner.lower() != request.name:
                answer = (cname(asked, record.ttl, record.owner), *answer)
                break
        return reply.replace(answer=answer, question=b"")


def _ends(reply: Reply) -> bool:
    """False for NXDOMAIN, names that nobody serves, and refusals without a reason: there the next domain is tried."""
    if reply.written:
        return reply.rcode != consts.NXDOMAIN
    if reply.error:  # where nobody is asked the search does not fail
        return not reply.error.endswith(NOBODY)
    return reply.rcode not in _SKIPPED
