"""What a survey found, as plain values: the same for every way of showing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from waypost.querylog.sketches.histogram import Bucket
from waypost.querylog.sketches.timeline import Interval


@dataclass(frozen=True, slots=True)
class Lines:
    """What was read: `passed` are no queries, by the level they name; `outside` not what was asked to be counted."""

    read: int = 0
    outside: int = 0
    passed: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Count:
    """Queries of one kind: at least so many, and here and below at most `missed` more."""

    key: str
    queries: int
    missed: int


@dataclass(frozen=True, slots=True)
class ClientRow:
    """A client. `namespace` is its pod's, or the one that its search list betrays; the rest as in ClientStats."""

    address: str
    pod: str
    namespace: str
    queries: int
    missed: int
    nxdomain: int
    useless: int
    pairs: int
    halves: int
    resent: int
    late_halves: int


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """A namespace whose names were asked for, without the tries of search lists."""

    namespace: str
    queries: int
    missed: int
    nxdomain: int


@dataclass(frozen=True, slots=True)
class StemRow:
    """A name that was looked up through the search list: useless queries for it, and what one look-up costs by rule."""

    stem: str
    useless: int
    missed: int
    namespace: str
    queries_each: int
    useless_each: int
    advice: str


@dataclass(frozen=True, slots=True)
class FailingRow:
    """A name that never resolved, the rcode of late, and its namespace if it is of the cluster."""

    name: str
    queries: int
    rcode: str
    namespace: str


@dataclass(frozen=True, slots=True)
class SlowName:
    """A name and the longest time that one query for it took, in seconds."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Durations:
    """How long answers took, in seconds; quantiles are off by at most `error`, as a share."""

    count: int
    p50: float
    p90: float
    p99: float
    p999: float
    largest: float
    error: float
    octaves: tuple[Bucket, ...]
    slowest: tuple[SlowName, ...]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Queries that came again, and pairs: the fields of Resends. `clients` are those with any, most first."""

    resent: int
    again: int
    unanswered: int
    late_halves: int
    pairs: int
    lone_a: int
    lone_aaaa: int
    back: int
    unjudged: int
    clients: tuple[ClientRow, ...]


@dataclass(frozen=True, slots=True)
class ZoneRow:
    """A zone outside the cluster: distinct names below it, and how many per cent of the names look like data."""

    zone: str
    distinct: int
    data_percent: float
    mean_length: float
    mean_entropy: float
    longest_label: int
    example: str
    clients: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Volume:
    """Queries over time: intervals of `width` seconds, counts are answered, NXDOMAIN, failed otherwise."""

    width: int
    intervals: tuple[Interval, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the report that is missing or less than whole, and why."""

    part: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to act on: what, and one sentence what to do. `level` is `problem` or `notice`."""

    code: str
    level: str
    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything. A part that the log cannot tell is None or empty, and named in `left_out`."""

    lines: Lines
    first: str
    last: str
    queries: int
    distinct_names: int
    distinct_clients: int
    nxdomain: int
    useless: int
    types: tuple[Count, ...]
    rcodes: tuple[Count, ...]
    clients: tuple[ClientRow, ...]
    namespaces: tuple[NamespaceRow, ...]
    client_namespaces: tuple[Count, ...]
    search_list: tuple[StemRow, ...]
    always_failing: tuple[FailingRow, ...]
    durations: Durations | None
    repeats: Repeats | None
    zones: tuple[ZoneRow, ...]
    volume: Volume | None
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...] = ()
