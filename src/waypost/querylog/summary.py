"""A survey to a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeVar

from waypost.podside.advice import advise, existing
from waypost.podside.cascade import cascade
from waypost.podside.replies import Zone
from waypost.podside.resolvers.lookup import Lookup
from waypost.querylog.findings import findings
from waypost.querylog.report import (
    ClientRow,
    Count,
    Durations,
    FailingRow,
    LeftOut,
    Lines,
    NamespaceRow,
    Repeats,
    Report,
    SlowName,
    StemRow,
    Volume,
    ZoneRow,
)
from waypost.querylog.searchlist import SEVERAL
from waypost.querylog.sketches.histogram import ERROR
from waypost.querylog.sketches.spacesaving import Slot, SpaceSaving
from waypost.querylog.statistics import ClientStats, StemStats, ZoneStats
from waypost.querylog.survey import Settings, Survey
from waypost.querylog.timestamps import format_moment

_FAILED_OFTEN: Final = 3
_EVIDENT_NAMES: Final = 10  # distinct names below a zone before its figures mean something

V = TypeVar("V")


def summarize(survey: Survey, lines: Lines, top: int) -> Report:
    """The report of a log that has been read, with at most `top` rows in each table."""
    timed = survey.timeline.count > 0
    nxdomain = survey.rcodes.get("NXDOMAIN")
    report = Report(
        lines=lines,
        first=format_moment(survey.timeline.first) if timed else "",
        last=format_moment(survey.timeline.last) if timed else "",
        queries=survey.queries,
        distinct_names=survey.distinct_names.estimate(),
        distinct_clients=survey.distinct_clients.estimate(),
        nxdomain=nxdomain.count if nxdomain else 0,
        useless=survey.search_list.useless,
        types=_counts(survey.types, top),
        rcodes=_counts(survey.rcodes, top),
        clients=tuple(_client(slot) for slot in survey.clients.top(top)),
        namespaces=_namespaces(survey)[:top],
        client_namespaces=_counts(survey.client_namespaces, top),
        search_list=tuple(_stem(slot, survey.settings) for slot in survey.search_list.stems.top(top)),
        always_failing=_always_failing(survey)[:top],
        durations=_durations(survey, top) if survey.durations.count else None,
        repeats=_repeats(survey, top) if timed and len(survey.clients) else None,
        zones=_zones(survey)[:top],
        volume=Volume(survey.timeline.width, tuple(survey.timeline.intervals())) if timed else None,
        left_out=tuple(_left_out(survey)),
    )
    return replace(report, findings=findings(report, survey.settings.domain))


def _counts(sketch: SpaceSaving[V], top: int) -> tuple[Count, ...]:
    return tuple(Count(slot.key, slot.least, slot.error) for slot in sketch.top(top))


def _client(slot: Slot[ClientStats]) -> ClientRow:
    stats = slot.value
    return ClientRow(
        slot.key, stats.pod, stats.namespace or stats.search_namespace, slot.least, slot.error, stats.nxdomain,
        stats.useless, stats.pairs, stats.halves, stats.resent, stats.late_halves,
    )  # fmt: skip


def _namespaces(survey: Survey) -> tuple[NamespaceRow, ...]:
    rows = [
        NamespaceRow(slot.key, slot.least - stats.useless, slot.error, stats.nxdomain - stats.useless)
        for slot in survey.namespaces.top()
        if slot.least > (stats := slot.value).useless
    ]
    return tuple(sorted(rows, key=lambda row: (-row.queries, row.namespace)))


def _stem(slot: Slot[StemStats], settings: Settings) -> StemRow:
    """With what glibc asks for such a name in a pod that kept the kubelet's defaults."""
    stats = slot.value
    domain = settings.domain.strip(".")
    namespace = "default" if stats.namespace in ("", SEVERAL) else stats.namespace
    searches = " ".join([f"{namespace}.svc.{domain}", f"svc.{domain}", domain, *settings.searches])
    lookup = Lookup(slot.key, f"search {searches}\nnameserver 10.96.0.10\noptions ndots:5\n", "unspec")
    made = cascade(lookup, "glibc", existing(stats.found) if stats.found else Zone({}))
    advice = next(iter(advise(lookup, "glibc", made)), "")
    return StemRow(slot.key, slot.least, slot.error, stats.namespace, len(made.queries), made.wasted, advice)


def _always_failing(survey: Survey) -> tuple[FailingRow, ...]:
    """Names that failed each time since they have a slot; those that only search lists ask for are left out."""
    rows = [
        FailingRow(slot.key, stats.seen, stats.rcode, stats.namespace)
        for slot in survey.names.top()
        if (stats := slot.value).failed == stats.seen >= _FAILED_OFTEN and stats.useless * 2 < stats.failed
    ]
    return tuple(sorted(rows, key=lambda row: (-row.queries, row.name)))


def _durations(survey: Survey, top: int) -> Durations:
    histogram = survey.durations
    p50, p90, p99, p999 = (histogram.quantile(share) for share in (0.5, 0.9, 0.99, 0.999))
    slowest = tuple(SlowName(name, seconds) for name, seconds in survey.slowest.top()[:top])
    octaves = tuple(histogram.octaves())
    return Durations(histogram.count, p50, p90, p99, p999, histogram.largest, ERROR, octaves, slowest)


def _repeats(survey: Survey, top: int) -> Repeats:
    found = survey.resends
    rows = [_client(slot) for slot in survey.clients.top()]
    signs = [row for row in rows if row.resent or row.late_halves or (row.halves and row.pairs)]
    signs.sort(key=lambda row: (-row.resent - row.late_halves, -row.halves, row.address))
    return Repeats(
        found.resent, found.again, found.unanswered, found.late_halves, found.pairs, found.lone[0], found.lone[1],
        found.back, found.unjudged, tuple(signs[:top]),
    )  # fmt: skip


def _zones(survey: Survey) -> tuple[ZoneRow, ...]:
    rows = [_zone(slot) for slot in survey.zones.top()]
    rows = [row for row in rows if row.distinct >= _EVIDENT_NAMES]
    return tuple(sorted(rows, key=lambda row: (-row.distinct * row.data_percent, -row.distinct, row.zone)))


def _zone(slot: Slot[ZoneStats]) -> ZoneRow:
    stats = slot.value
    return ZoneRow(
        slot.key,
        stats.distinct.estimate(),
        100 * stats.data / stats.judged,
        stats.length / stats.judged,
        stats.entropy / stats.long if stats.long else 0.0,
        stats.longest_label,
        stats.example,
        tuple(client.key for client in stats.clients.top(3)),
    )


def _left_out(survey: Survey) -> Iterator[LeftOut]:
    total = survey.queries
    times = survey.timeline.count
    if not total:
        return
    if not times:
        yield LeftOut(
            "volume over time, repeats after a timeout, missing halves of pairs",
            "no line carries a time; `kubectl logs --timestamps` adds it",
        )
    elif times < total:
        yield LeftOut("volume over time, repeats, halves", f"{total - times} of {total} lines carry no time")
    elif survey.resends.back:
        yield LeftOut(
            "repeats after a timeout, missing halves of pairs",
            f"time goes back ({survey.resends.back} x), so some may be missed or wrong; give the log of each server as "
            "a FILE of its own, and they are read side by side",
        )
    for missing, part, field in (
        (not len(survey.clients), "volume by client, search lists, repeats, pairs", "client"),
        (not len(survey.types), "volume by type, pairs", "type"),
        (not len(survey.rcodes), "rcodes, NXDOMAIN, names that always fail", "rcode"),
        (not survey.durations.count, "slow queries", "duration"),
    ):
        if missing:
            yield LeftOut(part, f"no line says its {field}")
    if not survey.settings.pods:
        yield LeftOut("namespaces of clients", "--pods says which pod has which address")
