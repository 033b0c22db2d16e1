"""The counters stay bounded whatever the log holds, and keep what is frequent."""

from __future__ import annotations

import pytest

from support.querylog import report_of, survey_of
from waypost.querylog import survey as module
from waypost.querylog.record import Query

COUNT = 2_000
LIMIT = 50


@pytest.fixture(autouse=True)
def small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NAMES", "CLIENTS", "ZONES", "NAMESPACES", "MNEMONICS"):
        monkeypatch.setattr(module, name, LIMIT)


def hostile() -> list[Query]:
    """Everything different in each query, and between them one client and name that are frequent."""
    made = []
    for number in range(COUNT):
        name = (f"a.b.ns{number}.svc.cluster.local.", f"www.zone{number}.example.", f"x.y{number}.com.")[number % 3]
        made.append(
            Query(name, f"TYPE{number}", f"{number}", f"10.0.{number >> 8}.{number & 255}", 0.1, 1e6 * number, "1/1")
        )
        if number % 4 == 0:
            made.append(Query("web.shop.svc.cluster.local.", "A", "NXDOMAIN", "10.9.9.9", 0.001))
    return made


def test_tables_are_bounded() -> None:
    survey = survey_of(hostile())
    tables = (survey.names, survey.clients, survey.zones, survey.namespaces, survey.types, survey.rcodes)
    assert [len(table) for table in tables] == [LIMIT] * len(tables)
    assert len(survey.timeline.intervals()) <= module.INTERVALS
    assert len(survey.slowest.top()) <= module.SLOWEST


def test_what_is_frequent_is_kept_with_its_bounds() -> None:
    report = report_of(hostile())
    true = COUNT // 4
    first = (report.clients[0], report.types[0], report.namespaces[0])
    assert [getattr(row, "address", None) or getattr(row, "key", None) for row in first[:2]] == ["10.9.9.9", "A"]
    assert report.namespaces[0].namespace == "shop"
    for row in first:
        assert row.queries <= true <= row.queries + row.missed
        assert row.missed <= report.queries / LIMIT
    assert [row.name for row in report.always_failing][:1] == ["web.shop.svc.cluster.local."]
    assert report.queries == COUNT + true
