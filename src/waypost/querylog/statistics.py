"""What is kept for each name, client, namespace, stem and zone that has a slot, since it has it."""

from __future__ import annotations

from waypost.querylog.asked import Asked, payload_of
from waypost.querylog.sketches.distinct import Distinct
from waypost.querylog.sketches.spacesaving import SpaceSaving

_ZONE_PRECISION = 8
_ZONE_CLIENTS = 8
_ALL = 256
_EVERY = 16


class NameStats:
    """A name: its readings, how often it was asked and failed, how many of these were tries of a search list."""

    __slots__ = ("asked", "failed", "fingerprint", "namespace", "rcode", "seen", "useless")

    def __init__(self, asked: Asked, fingerprint: int) -> None:
        self.asked = asked
        self.fingerprint = fingerprint
        self.namespace = "" if asked.surplus else asked.namespace
        self.seen = 0
        self.failed = 0
        self.useless = 0
        self.rcode = ""


class NamespaceStats:
    """A namespace asked for; `useless` of the queries were tries of a search list and not for it at all."""

    __slots__ = ("nxdomain", "useless")

    def __init__(self) -> None:
        self.nxdomain = 0
        self.useless = 0


class Try:
    """NXDOMAIN for a name, `count` times to one client; `counted` of them as useless."""

    __slots__ = ("count", "counted", "namespace", "stats")

    def __init__(self, stats: NameStats, namespace: NamespaceStats | None) -> None:
        self.stats = stats
        self.namespace = namespace
        self.count = 0
        self.counted = 0


class ClientStats:
    """A client; `namespace` and `pod` as a list of pods has them, `search_namespace` as its search list betrays it.

    `tries`: by stem, what it was told does not exist and is not known to be for.
    """

    __slots__ = (
        "halves", "late_halves", "namespace", "nxdomain", "pairs", "pod", "resent", "search_namespace", "tries",
        "useless",
    )  # fmt: skip

    def __init__(self, namespace: str, pod: str) -> None:
        self.namespace = namespace
        self.pod = pod
        self.search_namespace = ""
        self.tries: dict[str, Try] = {}
        self.nxdomain = 0
        self.useless = 0
        self.pairs = 0
        self.halves = 0
        self.resent = 0
        self.late_halves = 0


class StemStats:
    """A name given to resolvers that walked the search list: the name that existed in the end, and from where."""

    __slots__ = ("found", "namespace")

    def __init__(self) -> None:
        self.found = ""
        self.namespace = ""


class ZoneStats:
    """A zone outside the cluster, by the names below it that were new when they came.

    The first _ALL of them and then one of _EVERY are `judged`. Sums over these: `length`, and `entropy` of the `long`.
    """

    __slots__ = (
        "clients",
        "data",
        "distinct",
        "entropy",
        "example",
        "judged",
        "length",
        "long",
        "longest_label",
        "names",
    )

    def __init__(self) -> None:
        self.names = 0
        self.judged = 0
        self.distinct = Distinct(_ZONE_PRECISION)
        self.data = 0
        self.long = 0
        self.length = 0
        self.entropy = 0.0
        self.longest_label = 0
        self.example = ""
        self.clients: SpaceSaving[None] = SpaceSaving(_ZONE_CLIENTS, lambda address: None)

    def add(self, name: str, stats: NameStats, client: str) -> None:
        """Take note of a name below the zone that is new, and who asked it."""
        self.names += 1
        self.distinct.add(stats.fingerprint)
        if self.names > _ALL and self.names % _EVERY:
            return
        payload = payload_of(stats.asked.front)
        self.judged += 1
        self.length += payload.length
        self.longest_label = max(self.longest_label, payload.longest_label)
        if payload.entropy:
            self.long += 1
            self.entropy += payload.entropy
        if payload.looks_like_data:
            self.data += 1
            self.example = name
            if client:
                self.clients.hit(client)
