"""A report as titles, sentences and tables: what the text and the page have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from waypost.querylog.durations import format_duration
from waypost.querylog.report import Durations, Repeats, Report

_APPROXIMATE: Final = "~"
_AT_LEAST: Final = ">="
_ADVICE: Final = 3


@dataclass(frozen=True, slots=True)
class Section:
    """One part: sentences, then a table without rows if it has none. `key` names it for plots and links."""

    key: str
    title: str
    sentences: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def sections(report: Report) -> tuple[Section, ...]:
    """The parts that have something to say, in order; findings and what is left out are not among them."""
    parts = (
        *_volume(report), *_clients(report), *_namespaces(report), *_search_list(report), *_failing(report),
        *_durations(report.durations), *_repeats(report.repeats), *_zones(report),
    )  # fmt: skip
    return tuple(part for part in parts if part.sentences or part.rows)


def overview(report: Report) -> tuple[str, ...]:
    """What was read, in sentences."""
    lines = report.lines
    passed = ", ".join(f"{count} {level}" for level, count in sorted((lines.passed or {}).items()))
    read = f"{lines.read} lines: {report.queries} queries"
    if lines.outside:
        read += f", {lines.outside} others left aside"
    sentences = [f"{read}; no queries: {passed}" if passed else read]
    if report.first:
        sentences.append(f"from {report.first} to {report.last}")
    if report.queries:
        sentences.append(
            f"about {report.distinct_names} distinct names, about {report.distinct_clients} clients; "
            f"NXDOMAIN {percent(report.nxdomain, report.queries)}, "
            f"of which search lists {percent(report.useless, report.nxdomain)}"
        )
    return tuple(sentences)


def percent(part: int, whole: int) -> str:
    """`12.3 %`."""
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def number(count: int, missed: int = 0) -> str:
    """A count, marked if it may be more."""
    return f"{_AT_LEAST if missed else ''}{count}"


def _volume(report: Report) -> Iterator[Section]:
    for key, title, column, counts in (
        ("types", "Types", "type", report.types),
        ("rcodes", "Response codes", "rcode", report.rcodes),
    ):
        rows = tuple((row.key, number(row.queries, row.missed), percent(row.queries, report.queries)) for row in counts)
        yield Section(key, title, (), (column, "queries", "share"), rows)


def _clients(report: Report) -> Iterator[Section]:
    rows = tuple(
        (
            row.address, row.namespace or "-", row.pod or "-", number(row.queries, row.missed),
            percent(row.queries, report.queries), percent(row.nxdomain, row.queries), percent(row.useless, row.queries),
        )
        for row in report.clients
    )  # fmt: skip
    columns = ("client", "namespace", "pod", "queries", "share", "nxdomain", "search list")
    yield Section("clients", "Clients", (), columns, rows)


def _namespaces(report: Report) -> Iterator[Section]:
    rows = tuple(
        (row.namespace, number(row.queries, row.missed), percent(row.nxdomain, row.queries))
        for row in report.namespaces
    )
    yield Section("namespaces", "Namespaces asked for", (), ("namespace", "queries", "nxdomain"), rows)
    asking = tuple(
        (row.key, number(row.queries, row.missed), percent(row.queries, report.queries))
        for row in report.client_namespaces
    )
    yield Section("client-namespaces", "Namespaces that ask", (), ("namespace", "queries", "share"), asking)


def _search_list(report: Report) -> Iterator[Section]:
    if not report.useless:
        return
    walked = f"{report.useless} queries ({percent(report.useless, report.queries)}) only walked a search list."
    advice = [f"{row.stem}: {row.advice}." for row in report.search_list[:_ADVICE] if row.advice]
    rows = tuple(
        (
            row.stem,
            row.namespace or "-",
            number(row.useless, row.missed),
            f"{row.useless_each} of {row.queries_each}",
        )
        for row in report.search_list
    )
    columns = ("name", "from namespace", "useless queries", "of each look-up")
    yield Section("search-list", "Search lists", (walked, *advice), columns, rows)


def _failing(report: Report) -> Iterator[Section]:
    rows = tuple((row.name, str(row.queries), row.rcode) for row in report.always_failing)
    yield Section("failing", "Names that always fail", (), ("name", "queries", "rcode"), rows)


def _durations(durations: Durations | None) -> Iterator[Section]:
    if durations is None:
        return
    sentence = "; ".join(
        f"{name} {format_duration(value)}"
        for name, value in (
            ("median", durations.p50),
            ("90 %", durations.p90),
            ("99 %", durations.p99),
            ("99.9 %", durations.p999),
            ("longest", durations.largest),
        )
    )
    rows = tuple((row.name, format_duration(row.seconds)) for row in durations.slowest)
    yield Section("durations", "Durations", (f"{sentence}.",), ("slowest name", "longest"), rows)


def _repeats(repeats: Repeats | None) -> Iterator[Section]:
    if repeats is None:
        return
    late = f"{repeats.resent} sent again, {repeats.late_halves} second halves of pairs"
    other = f"{repeats.unanswered} while the first was not answered, {repeats.again} with a new id, perhaps polling"
    sentences = [
        f"Pairs of A and AAAA: {repeats.pairs} whole, {repeats.lone_a} of A alone, {repeats.lone_aaaa} of AAAA alone.",
        f"Queries that came a resolver's timeout late: {late}, {other}.",
    ]
    if repeats.unjudged:
        sentences.append(f"Look-ups that could not be followed, too many at once: {repeats.unjudged}.")
    rows = tuple(
        (row.address, row.namespace or "-", row.pod or "-", str(row.resent), str(row.late_halves), str(row.halves),
         str(row.pairs))
        for row in repeats.clients
    )  # fmt: skip
    columns = ("client", "namespace", "pod", "sent again", "late halves", "missing halves", "whole pairs")
    yield Section("repeats", "Repeats and pairs", tuple(sentences), columns, rows)


def _zones(report: Report) -> Iterator[Section]:
    rows: Sequence[tuple[str, ...]] = [
        (
            row.zone, f"{_APPROXIMATE}{row.distinct}", f"{row.data_percent:.0f} %", f"{row.mean_length:.0f}",
            str(row.longest_label), f"{row.mean_entropy:.1f}", ", ".join(row.clients) or "-",
        )
        for row in report.zones
    ]  # fmt: skip
    columns = ("zone", "distinct names", "like data", "mean length", "longest label", "bits a character", "clients")
    yield Section("zones", "Zones with many names", (), columns, tuple(rows))
