"""Queries that only walk a search list: NXDOMAIN for `api.example.com.shop.svc.cluster.local.` and its like.

Some names no object of a cluster can have: these count at once. Others could be meant (`web.shop.default.svc...` may be
a pod `web` behind a Service `shop`): these count when the same client goes on to a later try for the same stem.
"""

from __future__ import annotations

from typing import Final

from waypost.querylog.sketches.spacesaving import Slot, SpaceSaving
from waypost.querylog.statistics import ClientStats, NamespaceStats, NameStats, StemStats, Try

_STEMS: Final = 4_096
SEVERAL: Final = "several"
"""Stands for the namespace of clients that are in more than one."""
_TRIES: Final = 32  # remembered for each client


class SearchList:
    """`useless` counts them, `stems` says for which names."""

    __slots__ = ("stems", "useless")

    def __init__(self) -> None:
        self.useless = 0
        self.stems: SpaceSaving[StemStats] = SpaceSaving(_STEMS, lambda stem: StemStats())

    def add(
        self, rcode: str, name: Slot[NameStats], client_slot: Slot[ClientStats], namespace: NamespaceStats | None
    ) -> None:
        """Take note of a query. Without a client (an empty address) only names that no object can have are told."""
        stats, client = name.value, client_slot.value
        asked, tries = stats.asked, client.tries
        if tries:
            for stem in asked.later:
                known = tries.get(stem)
                if known is not None and known.stats is not stats:
                    for each in known.stats.asked.tries:
                        if tries.get(each) is known:
                            del tries[each]
                    self._settle(known, stem, client)
                    if rcode == "NOERROR" and (found := self.stems.get(stem)) is not None:
                        found.value.found = name.key
        if rcode != "NXDOMAIN" or not asked.tries:
            return
        if asked.surplus:
            self._count(1, stats, client, namespace)
        if not client_slot.key:
            return
        current = tries.get(asked.tries[0])
        if current is None or current.stats is not stats:
            current = Try(stats, namespace)
            for stem in asked.tries:
                tries[stem] = current
            while len(tries) > _TRIES:
                del tries[next(iter(tries))]
        current.count += 1
        current.counted += asked.surplus

    def _settle(self, known: Try, stem: str, client: ClientStats) -> None:
        """The client went on from one try for a stem to a later one."""
        if known.count:
            self._count(known.count - known.counted, known.stats, client, known.namespace)
            slot = self.stems.hit(stem, known.count)
            asked = known.stats.asked
            if stem == asked.tries[0] and asked.namespace:
                client.search_namespace = asked.namespace
                known_from = slot.value.namespace
                slot.value.namespace = SEVERAL if known_from not in ("", asked.namespace) else asked.namespace
            known.count = known.counted = 0

    def _count(self, count: int, stats: NameStats, client: ClientStats, namespace: NamespaceStats | None) -> None:
        self.useless += count
        stats.useless += count
        client.useless += count
        if namespace is not None:
            namespace.useless += count
