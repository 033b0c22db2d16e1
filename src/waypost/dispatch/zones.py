"""★4 Which server block answers: the longest zone that the name lies in, on one listener."""

from __future__ import annotations

from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.wire import consts
from waypost.wire.names import ROOT


class ZoneMap:
    """Zones of one listener in wire form, lower case, each with its blocks in file order."""

    __slots__ = ("_only_root", "_sites", "_sizes")

    def __init__(self) -> None:
        self._sites: dict[bytes, list[Site]] = {}
        self._sizes: frozenset[int] = frozenset()
        self._only_root: Site | None = None

    def add(self, zone: bytes, site: Site) -> None:
        """Let `site` answer for `zone`; blocks of one zone are tried in the order they were added."""
        self._sites.setdefault(zone, []).append(site)
        self._sizes = frozenset(len(known) for known in self._sites)
        plain = len(self._sites) == 1 and zone == ROOT and len(self._sites[ROOT]) == 1
        self._only_root = site if plain and not site.filters and site.collect is None else None

    def sites(self, zone: bytes) -> list[Site]:
        """The blocks of exactly this zone."""
        return self._sites.get(zone, [])

    def all_sites(self) -> list[Site]:
        """Every block, once."""
        return list({id(site): site for sites in self._sites.values() for site in sites}.values())

    def zones(self) -> list[bytes]:
        """Every zone."""
        return list(self._sites)

    def match(self, request: Request) -> Site | None:
        """The block for this request, None if there is none (REFUSED).

        Blocks whose views do not pass are skipped and the walk goes on to shorter zones. A DS query is the parent's
        (RFC 4035 section 3.1.4.1): the shortest zone but the root answers it.
        """
        if self._only_root is not None:
            return self._only_root
        name = request.query.name
        is_ds = request.query.qtype == consts.TYPE_DS
        found: Site | None = None
        i = 0
        end = len(name)
        while True:
            size = end - i
            if size in self._sizes:
                sites = self._sites.get(name[i:])
                site = self._first_accepting(sites, request) if sites is not None else None
                if site is not None:
                    if not is_ds:
                        return site
                    if size > 1 or found is None:
                        found = site
            if size == 1:
                return found
            i += name[i] + 1

    @staticmethod
    def _first_accepting(sites: list[Site], request: Request) -> Site | None:
        for site in sites:
            if site.collect is not None:
                site.collect(request)
            if not site.filters or site.accepts(request):
                return site
            if request.trace is not None:
                request.note("view", f"view {site.view} of the block {site.title} does not take this query")
        return None
