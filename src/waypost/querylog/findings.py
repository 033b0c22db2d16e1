"""What in a report deserves somebody's attention, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from waypost.querylog.durations import format_duration
from waypost.querylog.record import NO_REPLY
from waypost.querylog.report import FailingRow, Finding, Report

_USELESS_SHARE: Final = 0.1
_RCODE_SHARE: Final = 0.01
_SLOW: Final = 0.5
_FEW_HALVES: Final = 0.2  # more look like a habit of the client, or like the log of one server of several
_PAIRS: Final = 20
_DATA_NAMES: Final = 50
_DATA_PERCENT: Final = 50.0
_FAILING: Final = 5

_RCODE_REMEDIES: Final = {
    "SERVFAIL": "read the server's errors of that time (plugin `errors`) and ask the upstreams of `forward` directly.",
    "REFUSED": "add a server block for these names, or see which rule of `acl` refuses them.",
    NO_REPLY: "see what took so long that the client was given no answer: upstreams, or a plugin that drops queries.",
    "FORMERR": "find out which program sends such queries: they break the protocol.",
    "NOTIMP": "find out which program sends such queries: the server does not do what they ask for.",
}


def findings(report: Report, domain: str) -> tuple[Finding, ...]:
    """The findings of a report, problems first. `domain` is the cluster's."""
    checks: tuple[Callable[[Report, str], Iterator[Finding]], ...] = (
        _rcodes, _repeats, _data, _search_list, _failing, _slow, _halves,
    )  # fmt: skip
    found = [finding for check in checks for finding in check(report, domain)]
    return tuple(sorted(found, key=lambda finding: finding.level != "problem"))


def _rcodes(report: Report, _: str) -> Iterator[Finding]:
    for row in report.rcodes:
        if row.key in _RCODE_REMEDIES and row.queries >= _RCODE_SHARE * report.queries:
            what = "got no reply" if row.key == NO_REPLY else f"ended in {row.key}"
            text = f"{_of(row.queries, report.queries)} {what}"
            yield Finding(f"rcode-{row.key.strip('-').lower() or 'none'}", "problem", text, _RCODE_REMEDIES[row.key])


def _repeats(report: Report, _: str) -> Iterator[Finding]:
    repeats = report.repeats
    if repeats is None:
        return
    if lost := repeats.resent + repeats.late_halves:
        first = repeats.clients[0].address if repeats.clients else ""
        yield Finding(
            "lost-packets",
            "problem",
            f"{_queries(lost)} came a resolver's timeout late ({repeats.resent} sent again, {repeats.late_halves} "
            f"halves of pairs), most from {first}: a race in connection tracking, or a network that loses packets",
            "run NodeLocal DNSCache, or set dnsConfig option single-request-reopen (glibc), and look whether "
            "insert_failed of `conntrack -S` grows on the client's node.",
        )
    if repeats.unanswered:
        yield Finding(
            "slow-answers",
            "problem",
            f"{_queries(repeats.unanswered)} came again because the server had not answered within the timeout",
            "see which names are slow, and which upstream they go to.",
        )


def _data(report: Report, _: str) -> Iterator[Finding]:
    for row in report.zones:
        if row.distinct >= _DATA_NAMES and row.data_percent >= _DATA_PERCENT:
            clients = f", asked by {', '.join(row.clients)}" if row.clients else ""
            yield Finding(
                "names-like-data",
                "problem",
                f"about {row.distinct} distinct names below {row.zone}, {row.data_percent:.0f} % of them like data: "
                f"labels up to {row.longest_label} characters, {row.mean_entropy:.1f} bits a character{clients}",
                f"find out which program asks such names ({row.example}), and if nobody knows it, block the zone and "
                "look at that pod: this is how data leaves through DNS.",
            )


def _search_list(report: Report, domain: str) -> Iterator[Finding]:
    if not report.useless or report.useless < _USELESS_SHARE * report.queries:
        return
    outside = next((row for row in report.search_list if row.advice), None)
    example = f" ({outside.stem}: {outside.advice})" if outside else ""
    yield Finding(
        "search-list",
        "notice",
        f"{_of(report.useless, report.queries)} only walk search lists",
        f"write full names with the final dot, or give these workloads a lower ndots in dnsConfig{example}.",
    )


def _failing(report: Report, domain: str) -> Iterator[Finding]:
    for row in report.always_failing[:_FAILING]:
        yield Finding(
            "always-fails",
            "notice",
            f"the name {row.name} failed each of {row.queries} times: {row.rcode}",
            _cure(row, domain),
        )


def _cure(row: FailingRow, domain: str) -> str:
    if row.rcode != "NXDOMAIN":
        return f"ask the server for it, and what is behind it, and see where {row.rcode} comes from."
    if row.namespace:
        return f"see whether the namespace {row.namespace} and in it that Service or pod exist, or remove the name."
    if row.name.endswith(f".{domain.strip('.')}."):
        return "correct or remove the name: the cluster has nothing of that kind."
    if row.name.count(".") == 1:
        return "see which program asks for a Service of that name in a namespace where there is none."
    return "correct or remove the name where it is configured, or create it."


def _slow(report: Report, _: str) -> Iterator[Finding]:
    durations = report.durations
    if durations is not None and durations.p99 >= _SLOW:
        name = durations.slowest[0].name if durations.slowest else ""
        yield Finding(
            "slow",
            "problem",
            f"one answer in a hundred takes {format_duration(durations.p99)} or more, at most "
            f"{format_duration(durations.largest)} ({name})",
            "ask the upstreams of `forward` directly for the slowest names, and take out those that do not answer.",
        )


def _halves(report: Report, _: str) -> Iterator[Finding]:
    if report.repeats is None:
        return
    odd = [
        row
        for row in report.repeats.clients
        if row.pairs >= _PAIRS and 0 < row.halves <= _FEW_HALVES * row.pairs and not (row.resent or row.late_halves)
    ]
    if odd:
        most = max(odd, key=lambda row: row.halves)
        yield Finding(
            "missing-halves",
            "notice",
            f"of some pairs of A and AAAA one half never came; clients that otherwise ask for both: {len(odd)}, first "
            f"{most.address} ({most.halves} beside {most.pairs} whole pairs)",
            "give the logs of all servers at once; if the halves are missing then too, packets are lost on the way.",
        )


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"


def _of(part: int, whole: int) -> str:
    return f"{part} of {whole} queries ({100 * part / whole:.1f} %)" if whole else "0 queries"
