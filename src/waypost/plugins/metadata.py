"""metadata: let plugins note facts about a query, for log formats, views and rewrites to use.

metadata [ZONES...]
"""

from __future__ import annotations

from dataclasses import dataclass

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.corefile.zones import zones_of_argument
from waypost.dispatch.handler import Handler, Metadata, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.wire import names


@dataclass(frozen=True, slots=True)
class Config:
    """`zones` as absolute names; None means the block's own."""

    zones: tuple[str, ...] | None = None


def parse(directive: Directive) -> Config:
    """Raises CorefileError for a second occurrence and for a block with anything in it."""
    cursor = Cursor(directive)
    zones: tuple[str, ...] | None = None
    for count, args in enumerate(cursor.occurrences()):
        if count:
            raise cursor.arg_err()
        if args:
            zones = tuple(zone for text in args for zone in zones_of_argument(text))
        for _ in cursor.options():
            raise cursor.arg_err()
    return Config(zones)


def setup(directive: Directive, site: Site) -> None:
    """Add the handler and let it collect before the block's filters run."""
    config = parse(directive)
    zones = site.zones if config.zones is None else tuple(map(names.from_text, config.zones))
    collector = Collector(site, zones)
    site.collect = collector.collect
    site.add(collector)


class Collector:
    """Asks every plugin of the block that knows something, before the query enters the chain; there it only passes."""

    __slots__ = ("_providers", "_site", "_zones", "name", "next")

    next: Handler

    def __init__(self, site: Site, zones: tuple[bytes, ...]) -> None:
        self.name = "metadata"
        self._site = site
        self._zones = zones
        self._providers: list[Metadata] | None = None

    def collect(self, request: Request) -> None:
        """Give the request a place for metadata and, within the zones, what the block's plugins know of it."""
        if request.metadata is None:
            request.metadata = {}
        if not any(names.is_within(request.name, zone) for zone in self._zones):
            return
        if self._providers is None:  # not known before every plugin of the block is set up
            self._providers = [handler for handler in self._site.all_handlers() if isinstance(handler, Metadata)]
        for provider in self._providers:
            request.metadata.update(provider.metadata(request))

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        return self.next.serve(request)
