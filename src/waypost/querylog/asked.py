"""What a name says: a namespace of the cluster, a walk through the search list, the zone it belongs to, a payload.

The search list of a pod is `NAMESPACE.svc.DOMAIN svc.DOMAIN DOMAIN` and what its node adds. So one name has several
readings: `web.shop.svc.cluster.local.` is the Service `web` in the namespace `shop`, or the second try for `web.shop`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

_MOST_LABELS: Final = 2  # HOSTNAME.SERVICE before NAMESPACE.svc, besides `_port._protocol`
# Longer than names that people choose.
_LONG_LABEL: Final = 24
_LONG_PAYLOAD: Final = 60
_DATA_ENTROPY: Final = 3.2
_COUNTRY: Final = 2
_SECOND_LEVEL: Final = 3
# Besides these, the server answers only for Services and pods below the cluster domain.
_OTHER_NAMES: Final = ("svc", "pod", "dns", "dns-version")


class Payload(NamedTuple):
    """What stands before the zone of a name outside the cluster.

    Lengths in characters; `entropy` (Shannon) in bits for each, worked out only for what is long, else 0.
    """

    length: int
    longest_label: int
    entropy: float

    @property
    def looks_like_data(self) -> bool:
        """Long and of many different characters: what tools that tunnel through DNS make."""
        return self.entropy >= _DATA_ENTROPY


class Asked(NamedTuple):
    """The readings of a name. Stems are names as programs give them to their resolver: without the final dot.

    `namespace`: the label that stands where names of the cluster have theirs; `tries`: the stems of which it may be an
    early try, the shortest first; `later`: those of which it may be a later one; `surplus`: in the cluster domain, but
    no object can have this name, so it is a try of a search list; `zone` and `front`, the labels before it: only
    outside the cluster.
    """

    namespace: str = ""
    tries: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    surplus: bool = False
    zone: str = ""
    front: str = ""


class NameReader:
    """Reads names of a cluster with this domain, whose nodes add `searches` to the search list."""

    __slots__ = ("_domain", "_pods", "_searches", "_services")

    def __init__(self, domain: str, searches: Sequence[str] = ()) -> None:
        self._domain = f".{domain.strip('.').lower()}."
        self._services = f".svc{self._domain}"
        self._pods = f".pod{self._domain}"
        self._searches = [f".{search.strip('.').lower()}." for search in searches]

    def read(self, name: str) -> Asked:
        """The readings of a name as a Query has it: every dot separates labels."""
        own = name[:-1]
        if name.endswith(self._domain):
            if name.endswith(self._services):
                return _service(name[: -len(self._services)], own)
            if name.endswith(self._pods):
                outer = name[: -len(self._pods)]
                return Asked(outer.rpartition(".")[2], (), (f"{outer}.pod", own))  # nobody looks these up by parts
            stem = name[: -len(self._domain)]
            surplus = stem.rpartition(".")[2] not in _OTHER_NAMES
            return Asked("", (stem,) if surplus else (), (stem, own), surplus)
        for search in self._searches:
            if name.endswith(search):
                stem = name[: -len(search)]
                return _outside(own, (stem,), (stem, own))
        return _outside(own, (), (own,))


def payload_of(front: str) -> Payload:
    """The figures of the labels before a zone."""
    labels = front.split(".")
    length, longest = len(front) - len(labels) + 1, max(map(len, labels))
    is_long = longest >= _LONG_LABEL or length >= _LONG_PAYLOAD
    return Payload(length, longest, entropy(front.replace(".", "")) if is_long else 0.0)


def entropy(text: str) -> float:
    """Bits for each character by the frequencies of the text itself (Shannon); 0 for an empty text."""
    size = len(text)
    counts = [text.count(char) for char in set(text)]
    return math.log2(size) - sum(count * math.log2(count) for count in counts) / size if text else 0.0


def zone_size(labels: Sequence[str]) -> int:
    """How many labels make the domain that somebody registered, guessed: two, or three for such as `co.uk`."""
    short = len(labels) > 2 and len(labels[-1]) == _COUNTRY and len(labels[-2]) <= _SECOND_LEVEL
    return 3 if short else 2


def _service(outer: str, own: str) -> Asked:
    """`own` is `OUTER.svc.DOMAIN`; `outer` itself ends in what stands where a namespace does."""
    inner, _, namespace = outer.rpartition(".")
    labels = inner.count(".") + 1 if inner else 0
    if inner.startswith("_"):
        labels = sum(not label.startswith("_") for label in inner.split("."))
    full = f"{outer}.svc"
    tries = (inner, outer, full) if inner else (outer, full)
    return Asked(namespace, tries, (full, outer, own), labels > _MOST_LABELS)


def _outside(own: str, tries: tuple[str, ...], later: tuple[str, ...]) -> Asked:
    labels = own.split(".")
    size = zone_size(labels)
    if len(labels) <= size or labels[-1] == "arpa":
        return Asked("", tries, later)
    zone = ".".join(labels[-size:])
    return Asked("", tries, later, False, zone, own[: -len(zone) - 1])
