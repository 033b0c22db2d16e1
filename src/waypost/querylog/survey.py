"""The counters of a report. Every one is bounded, whatever the log holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from waypost.querylog.asked import NameReader
from waypost.querylog.record import Query
from waypost.querylog.resends import Resends
from waypost.querylog.searchlist import SearchList
from waypost.querylog.sketches.distinct import Distinct, fingerprint
from waypost.querylog.sketches.histogram import Histogram
from waypost.querylog.sketches.largest import Largest
from waypost.querylog.sketches.spacesaving import Slot, SpaceSaving
from waypost.querylog.sketches.timeline import Timeline
from waypost.querylog.statistics import ClientStats, NamespaceStats, NameStats, ZoneStats

NAMES: Final = 8_192
CLIENTS: Final = 8_192
ZONES: Final = 1_024
NAMESPACES: Final = 4_096
MNEMONICS: Final = 256
SLOWEST: Final = 100
INTERVALS: Final = 120
ANSWERED, NXDOMAIN, FAILED = range(3)
"""Series of the timeline. Without an rcode a query counts as answered."""
_SERIES: Final = {"NOERROR": ANSWERED, "NXDOMAIN": NXDOMAIN}
_DISTINCT_PRECISION: Final = 12


class Pod(NamedTuple):
    """Who has an address."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The cluster that the log is of: its domain, what its nodes add to the search list, pods by address."""

    domain: str = "cluster.local"
    searches: Sequence[str] = ()
    pods: Mapping[str, Pod] = field(default_factory=dict)


class Survey:
    """Counts queries."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.queries = 0
        self.types: SpaceSaving[None] = SpaceSaving(MNEMONICS, lambda text: None)
        self.rcodes: SpaceSaving[None] = SpaceSaving(MNEMONICS, lambda text: None)
        self.clients: SpaceSaving[ClientStats] = SpaceSaving(CLIENTS, self._client)
        self.names: SpaceSaving[NameStats] = SpaceSaving(NAMES, self._name)
        self.namespaces: SpaceSaving[NamespaceStats] = SpaceSaving(NAMESPACES, lambda name: NamespaceStats())
        self.client_namespaces: SpaceSaving[None] = SpaceSaving(NAMESPACES, lambda name: None)
        self.zones: SpaceSaving[ZoneStats] = SpaceSaving(ZONES, lambda zone: ZoneStats())
        self.distinct_names = Distinct(_DISTINCT_PRECISION)
        self.distinct_clients = Distinct(_DISTINCT_PRECISION)
        self.durations = Histogram()
        self.slowest = Largest(SLOWEST)
        self.timeline = Timeline(3, INTERVALS)
        self.search_list = SearchList()
        self.resends = Resends()
        self._reader = NameReader(settings.domain, settings.searches)
        self._nobody = Slot("", 0, 0, ClientStats("", ""))

    def add(self, query: Query) -> None:
        """Count a query."""
        name, kind, rcode, client, seconds, time, tag = query
        self.queries += 1
        if kind:
            self.types.hit(kind)
        slot = self.names.hit(name)
        stats = slot.value
        if not stats.seen and stats.asked.zone:
            self.zones.hit(stats.asked.zone).value.add(slot.key, stats, client)
        stats.seen += 1
        place = self.clients.hit(client) if client else self._nobody
        who = place.value
        if who.namespace:
            self.client_namespaces.hit(who.namespace)
        namespace = stats.namespace
        where = self.namespaces.hit(namespace).value if namespace else None
        series = ANSWERED
        if rcode:
            self.rcodes.hit(rcode)
            series = _SERIES.get(rcode, FAILED)
            if series:
                stats.failed += 1
                stats.rcode = rcode
                if series == NXDOMAIN:
                    who.nxdomain += 1
                    if where is not None:
                        where.nxdomain += 1
        if who.tries or (series == NXDOMAIN and stats.asked.tries):
            self.search_list.add(rcode, slot, place, where)
        if seconds is not None:
            self.durations.add(seconds)
            if seconds > self.slowest.floor:
                self.slowest.add(name, seconds)
        if time is not None:
            self.timeline.add(time, series)
            if client:
                # The slots' own texts, with their hash: less memory and time than this line's.
                self.resends.add(place.key, slot.key, kind, time - seconds if seconds else time, time, tag, who)

    def end(self) -> None:
        """The log is read."""
        self.resends.end()

    def _client(self, address: str) -> ClientStats:
        self.distinct_clients.add(fingerprint(address))
        pod = self.settings.pods.get(address)
        return ClientStats(pod.namespace, pod.name) if pod else ClientStats("", "")

    def _name(self, name: str) -> NameStats:
        mark = fingerprint(name)
        self.distinct_names.add(mark)
        return NameStats(self._reader.read(name), mark)
