"""Reading query logs: what the log plugin writes is read back, and nothing that a log may hold stops or misleads it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.querylog import line, read, reader
from waypost.querylog.lines import LineReader
from waypost.querylog.page.document import document
from waypost.querylog.record import Query
from waypost.querylog.report import Lines
from waypost.querylog.sections import overview, sections
from waypost.querylog.selection import Selection
from waypost.querylog.summary import summarize
from waypost.querylog.survey import Settings, Survey
from waypost.wire import names

labels = st.binary(min_size=1, max_size=20)
wire_names = st.lists(labels, max_size=5).map(names.from_labels)
keys = st.sampled_from(
    ["name", "type", "rcode", "remote", "port", ">id", "duration", "time", "log", "ts", "duration_ms"]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
values = scalars | st.sampled_from(["A", "AAAA", "NXDOMAIN", "a.b.", "10.0.0.1:53", "2024-05-01T10:40:00Z", "5s"])
plain = line("a.example.org.")


@given(wire_names, st.sampled_from(["A", "TYPE4711", "NSAP-PTR"]), st.sampled_from(["NOERROR", "-", "23"]))
def test_every_name_comes_back(name: bytes, kind: str, rcode: str) -> None:
    written = names.to_text(name).lower()
    found = read(line(written, kind, rcode))
    assert found is not None
    assert (found.type, found.rcode, found.client, found.tag) == (kind, rcode, "10.244.1.7", "40000/7")
    assert names.from_text(found.name) == names.from_text(written)
    assert found.name.isascii()
    assert found.name.isprintable()


@given(st.lists(st.text(max_size=60) | st.integers(0, 90).map(lambda end: plain[:end]), max_size=30))
@example([plain[:50], plain[50:], "\x00", "[INFO] ", "{}", '{"log": "\\ud800"}'])
def test_what_is_no_query_is_counted_as_such(texts: list[str]) -> None:
    each = reader()
    for text in texts:
        assert each.read(text) is None
    assert each.read(plain) is not None
    assert sum(each.passed.values()) == len(texts)


@given(st.integers(0, len(plain)), st.integers(0, len(plain)), st.characters())
def test_a_damaged_line_is_never_another_name(start: int, end: int, char: str) -> None:
    found = read(plain[:start] + char + plain[end:])
    if found is not None:
        assert "example.org" in plain[:start] + char + plain[end:] or found.name != "a.example.org."
        assert found.name.isascii()
        assert found.name.isprintable()


def report_on(each: LineReader, texts: list[str]) -> str:
    """Everything that is made of a log."""
    survey = Survey(Settings(searches=("corp.example",)))
    holds = Selection(since=0.0).holds
    for text in texts:
        query = each.read(text)
        if query is not None:
            for field in (query.name, query.type, query.rcode, query.client, query.tag):
                assert field.isascii()
                assert field.isprintable()
            assert query.name.endswith(".")
            holds(query)
            survey.add(query)
    survey.end()
    report = summarize(survey, Lines(len(texts), 0, each.passed), 5)
    return document(report) + repr((overview(report), sections(report)))


@settings(max_examples=60)
@given(st.lists(st.dictionaries(keys, values, max_size=8), max_size=10))
@example([{"name": "a.", "type": "A", "time": 10**300, "duration": 10**300}])
def test_any_objects(objects: list[dict[str, Any]]) -> None:
    report_on(reader(), [json.dumps(value) for value in objects])


@settings(max_examples=60)
@given(
    st.lists(
        st.builds(
            lambda name, kind, rcode, at, client: f"{at}Z stdout F {line(name, kind, rcode, client=client)}",
            wire_names.map(lambda name: names.to_text(name).lower())
            | st.sampled_from(
                ["a.b.svc.cluster.local.", "a.b.c.svc.cluster.local.", "a.cluster.local.", "a.corp.example."]
            ),
            st.sampled_from(["A", "AAAA", "MX"]),
            st.sampled_from(["NOERROR", "NXDOMAIN", "SERVFAIL", "-"]),
            st.datetimes().map(lambda at: at.isoformat()),
            st.sampled_from(["10.0.0.1", "[::1]", "..", "10.0.0.2"]),
        ),
        max_size=20,
    )
)
def test_any_queries(texts: list[str]) -> None:
    each = reader()
    report_on(each, texts)
    assert sum(each.passed.values()) == 0


@given(st.lists(st.tuples(st.sampled_from(["a.b.c.", "x.y.svc.cluster.local."]), st.sampled_from(["", "NOERROR"]))))
def test_counts_add_up(queries: list[tuple[str, str]]) -> None:
    survey = Survey(Settings())
    for name, rcode in queries:
        survey.add(Query(name, rcode=rcode))
    assert survey.queries == len(queries) == sum(slot.count for slot in survey.names.top())
