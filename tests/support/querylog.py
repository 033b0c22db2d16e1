"""Lines of query logs, and what counts them."""

from __future__ import annotations

import json
from collections.abc import Iterable

from waypost.querylog.lines import LineReader
from waypost.querylog.record import Query
from waypost.querylog.report import Lines, Report
from waypost.querylog.summary import summarize
from waypost.querylog.survey import Settings, Survey
from waypost.querylog.timestamps import Clock

NOW = 1_717_200_000.0
"""2024-06-01T00:00:00Z."""


def line(
    name: str,
    kind: str = "A",
    rcode: str = "NOERROR",
    *,
    client: str = "10.244.1.7",
    port: int = 40000,
    query_id: int = 7,
    seconds: float = 0.0002,
) -> str:
    """A line of the format `common`."""
    asked = f'"{kind} IN {name} udp 50 false 512"'
    return f"[INFO] {client}:{port} - {query_id} {asked} {rcode} qr,aa,rd 100 {seconds:.9f}s"


def reader() -> LineReader:
    """A reader of lines in the known formats."""
    return LineReader(Clock(NOW), json.loads)


def read(text: str) -> Query | None:
    """The query of one line."""
    return reader().read(text)


def survey_of(queries: Iterable[Query], settings: Settings | None = None) -> Survey:
    """The counters when all are counted."""
    survey = Survey(settings or Settings())
    for query in queries:
        survey.add(query)
    survey.end()
    return survey


def report_of(queries: Iterable[Query], settings: Settings | None = None, top: int = 10) -> Report:
    """The report on them."""
    survey = survey_of(queries, settings)
    return summarize(survey, Lines(survey.queries), top)
