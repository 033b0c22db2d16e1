"""What a report says of a log, and what is found in it."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from support.querylog import report_of
from waypost.querylog.record import NO_REPLY, Query
from waypost.querylog.report import Report
from waypost.querylog.sections import overview, sections
from waypost.querylog.survey import Pod, Settings

T = 1_714_560_000.0


def pairs(name: str, rcode: str = "NOERROR", client: str = "10.0.0.1", at: float = T, times: int = 1) -> list[Query]:
    return [
        Query(name, kind, rcode, client, 0.001, at + 30 * number + 0.001 * half, f"{number}/{half}")
        for number in range(times)
        for half, kind in enumerate(("A", "AAAA"))
    ]


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def text(report: Report) -> str:
    return "\n".join(f"{finding.what}: {finding.remedy}" for finding in report.findings)


def test_nothing() -> None:
    report = report_of([])
    assert (report.findings, report.left_out, report.volume, report.durations) == ((), (), None, None)
    assert overview(report) == ("0 lines: 0 queries",)
    assert sections(report) == ()


def test_volume() -> None:
    settings = Settings(pods={"10.0.0.1": Pod("shop", "web-0")})
    queries = pairs("a.shop.svc.cluster.local.", times=3) + pairs(
        "b.infra.svc.cluster.local.", "NXDOMAIN", "10.0.0.2", at=T + 60
    )
    report = report_of(queries, settings)
    assert [(row.key, row.queries, row.missed) for row in report.types] == [("A", 4, 0), ("AAAA", 4, 0)]
    assert [(row.key, row.queries) for row in report.rcodes] == [("NOERROR", 6), ("NXDOMAIN", 2)]
    assert [(row.address, row.namespace, row.pod, row.queries, row.nxdomain) for row in report.clients] == [
        ("10.0.0.1", "shop", "web-0", 6, 0),
        ("10.0.0.2", "", "", 2, 2),
    ]
    assert [(row.namespace, row.queries, row.nxdomain) for row in report.namespaces] == [
        ("shop", 6, 0),
        ("infra", 2, 2),
    ]
    assert [(row.key, row.queries) for row in report.client_namespaces] == [("shop", 6)]
    assert (report.first, report.last) == ("2024-05-01T10:40:00Z", "2024-05-01T10:41:00Z")
    assert report.volume is not None
    assert [sum(counts) for counts in zip(*(each.counts for each in report.volume.intervals), strict=True)] == [6, 2, 0]
    assert (report.distinct_names, report.distinct_clients, report.left_out) == (2, 2, ())


def test_top_cuts_every_table() -> None:
    queries = [
        query
        for number in range(40)
        for query in pairs(f"n{number}.a.ns{number}.", "SERVFAIL", f"10.0.0.{number}", times=3)
    ]
    report = report_of(queries, top=4)
    assert [len(report.clients), len(report.always_failing), len(report.rcodes)] == [4, 4, 1]
    assert report.durations is not None
    assert len(report.durations.slowest) == 4


@pytest.mark.parametrize(
    ("field", "part"),
    [
        ("time", "no line carries a time; `kubectl logs --timestamps` adds it"),
        ("client", "no line says its client"),
        ("type", "no line says its type"),
        ("rcode", "no line says its rcode"),
        ("seconds", "no line says its duration"),
    ],
)
def test_what_the_log_does_not_tell_is_left_out(field: str, part: str) -> None:
    unknown = None if field in ("time", "seconds") else ""
    report = report_of(query._replace(**{field: unknown}) for query in pairs("a.example.", "NXDOMAIN", times=5))
    assert part in [left.why for left in report.left_out]
    assert (report.volume is None) == (field == "time")
    assert (report.repeats is None) == (field in ("time", "client"))
    assert (report.durations is None) == (field == "seconds")


def test_some_lines_without_a_time() -> None:
    queries = pairs("a.", times=3)
    report = report_of([query._replace(time=None) if query.type == "A" else query for query in queries])
    assert "3 of 6 lines carry no time" in [left.why for left in report.left_out]


def test_search_lists() -> None:
    names = [
        f"api.example.com.{suffix}" for suffix in ("shop.svc.cluster.local.", "svc.cluster.local.", "cluster.local.")
    ]
    walk = [query for name in names for query in pairs(name, "NXDOMAIN")] + pairs("api.example.com.")
    report = report_of(walk * 4)
    assert (report.nxdomain, report.useless) == (24, 24)
    (row,) = report.search_list
    assert (row.stem, row.useless, row.namespace, row.queries_each, row.useless_each) == (
        "api.example.com",
        24,
        "shop",
        8,
        6,
    )
    assert report.clients[0].namespace == "shop"
    assert report.namespaces == ()
    assert codes(report) == ["search-list"]
    assert "write api.example.com. with the final dot: 2 queries instead of 8" in text(report)


@pytest.mark.parametrize(
    ("name", "rcode", "remedy"),
    [
        ("old.shop.svc.cluster.local.", "NXDOMAIN", "the namespace shop"),
        ("gone.example.com.", "NXDOMAIN", "correct or remove the name where it is configured"),
        ("x.dns.cluster.local.", "NXDOMAIN", "the cluster has nothing of that kind"),
        ("redis.", "NXDOMAIN", "a Service of that name"),
        ("slow.example.com.", "SERVFAIL", "where SERVFAIL comes from"),
    ],
)
def test_names_that_always_fail(name: str, rcode: str, remedy: str) -> None:
    report = report_of(pairs(name, rcode, times=2) + pairs("fine.example.com.", times=20))
    assert [(row.name, row.queries, row.rcode) for row in report.always_failing] == [(name, 4, rcode)]
    assert remedy in text(report)


def test_a_name_that_resolved_once_does_not_always_fail() -> None:
    report = report_of(pairs("a.example.com.", "NXDOMAIN", times=5) + pairs("a.example.com."))
    assert report.always_failing == ()


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED", NO_REPLY])
def test_response_codes(rcode: str) -> None:
    report = report_of(pairs("a.b.", rcode) + pairs("c.d.", times=9))
    assert codes(report) == [f"rcode-{'none' if rcode == NO_REPLY else rcode.lower()}"]
    assert "2 of 20 queries (10.0 %)" in text(report)


def test_slow_queries() -> None:
    slow = [Query(f"n{number}.", "A", "NOERROR", "10.0.0.1", 2.0 + number) for number in range(3)]
    report = report_of(pairs("a.", times=40) + slow)
    assert codes(report) == ["slow"]
    assert report.durations is not None
    assert [(row.name, row.seconds) for row in report.durations.slowest][:2] == [("n2.", 4.0), ("n1.", 3.0)]
    assert (report.durations.count, report.durations.largest) == (83, 4.0)
    assert report.durations.p50 == pytest.approx(0.001, rel=report.durations.error)


def test_lost_packets() -> None:
    lost = [Query("a.", "A", "NOERROR", "10.0.0.9", 0.0, T + at, "1/1") for at in (0, 5)]
    report = report_of(lost + pairs("b.", at=T + 100))
    assert codes(report) == ["lost-packets"]
    assert "most from 10.0.0.9" in text(report)
    assert report.repeats is not None
    assert (report.repeats.resent, report.repeats.clients[0].resent) == (1, 1)


def test_the_server_answers_too_late() -> None:
    late = [Query("a.", "A", "NOERROR", "10.0.0.9", 5.5, T + 5.5 + at, "1/1") for at in (0, 5)]
    assert "slow-answers" in codes(report_of(late + pairs("b.", at=T + 100, times=500)))


def test_missing_halves() -> None:
    """One of many is a sign of lost packets; half of them is how the client is, or the log of one server of two."""
    some = pairs("a.", times=30)
    assert codes(report_of(some[:-2] + some[-1:] + pairs("z.", client="10.0.0.2", at=T + 2_000))) == ["missing-halves"]
    half = [query for query in pairs("a.", times=60) if query.type == "A" or int(query.tag.split("/")[0]) % 2]
    assert codes(report_of(half)) == []


def data(count: int, zone: str, client: str = "10.0.0.7") -> Iterable[Query]:
    rng = random.Random(4)
    return (Query(f"{rng.getrandbits(160):040x}.{zone}", "TXT", "NOERROR", client, 0.01, T) for _ in range(count))


def test_names_that_look_like_data() -> None:
    report = report_of([*data(300, "t.evil.example."), *pairs("www.example.com.", times=50)])
    assert codes(report) == ["names-like-data"]
    (row,) = report.zones
    assert row.distinct == pytest.approx(300, rel=0.25)
    assert (row.zone, row.data_percent, row.longest_label, row.clients) == ("evil.example", 100.0, 40, ("10.0.0.7",))
    assert 3.5 < row.mean_entropy < 4.1


def test_data_that_begins_late_is_seen() -> None:
    """Only a sample of many names is judged; it is taken all the way."""
    plain = [Query(f"customer-{number}.example.com.", "A", "NOERROR", "10.0.0.1") for number in range(1_000)]
    (row,) = report_of([*plain, *data(9_000, "example.com.")]).zones
    assert row.data_percent > 60


def test_a_few_hashes_are_no_data() -> None:
    assert codes(report_of([*data(20, "cdn.example."), *pairs("www.example.com.", times=50)])) == []


def test_many_plain_names_are_no_data() -> None:
    queries = [Query(f"customer-{number}.eu.example.com.", "A", "NOERROR", "10.0.0.1") for number in range(500)]
    report = report_of(queries)
    assert codes(report) == []
    assert [row.zone for row in report.zones] == ["example.com"]


def test_problems_come_first() -> None:
    report = report_of([*pairs("gone.example.", "NXDOMAIN", times=3), *pairs("x.y.", "SERVFAIL", times=3)])
    levels = [finding.level for finding in report.findings]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] == "problem"


def test_each_remedy_is_one_sentence() -> None:
    queries = [
        *data(300, "evil.example."),
        *pairs("gone.example.", "NXDOMAIN", times=200),
        *pairs("x.y.", "SERVFAIL", times=90),
    ]
    for finding in report_of(queries).findings:
        assert finding.remedy.endswith(".")
        assert ". " not in finding.remedy
