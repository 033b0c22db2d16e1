"""An `externalName` that is an address: it makes no name, and the log says so."""

from __future__ import annotations

import io

import pytest

from support.objects import make_index, service
from waypost.log import Log
from waypost.plugins.kubernetes.numeric_names import NumericNames

LINE = "[WARNING] Service 'a/number' has an address as its externalName, '192.0.2.7', and so no name; "


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def sink(stream: io.StringIO) -> NumericNames:
    return NumericNames(make_index(), Log(stream))


def lines(stream: io.StringIO) -> list[str]:
    return stream.getvalue().splitlines()


NUMBER = service("a/number", external="192.0.2.7")


def test_one_line_for_a_service(sink: NumericNames, stream: io.StringIO) -> None:
    """B57: however often it is listed or changed."""
    for _ in range(3):
        sink.begin_list()
        sink.listed(NUMBER)
        sink.listed(service("a/good", external="www.example.org"))
        sink.listed(service("a/web", "10.96.0.1"))
        sink.end_list()
        sink.changed(NUMBER)
    assert len(lines(stream)) == 1
    assert lines(stream)[0].startswith(LINE)
    assert sink.count() == 3


def test_what_was_mended_or_deleted_may_be_told_again(sink: NumericNames, stream: io.StringIO) -> None:
    sink.changed(NUMBER)
    sink.changed(service("a/number", external="www.example.org"))
    sink.changed(NUMBER)
    sink.removed("a", "number")
    sink.changed(NUMBER)
    sink.begin_list()
    sink.end_list()
    sink.changed(NUMBER)
    assert len(lines(stream)) == 4


def test_a_list_that_breaks_off_removes_nothing(sink: NumericNames, stream: io.StringIO) -> None:
    sink.changed(NUMBER)
    sink.begin_list()
    sink.abort_list()
    sink.begin_list()
    sink.listed(NUMBER)
    sink.end_list()
    assert (len(lines(stream)), sink.count()) == (1, 1)


@pytest.mark.parametrize("text", ["2001:db8::7", "192.0.2.7."])
def test_other_addresses(sink: NumericNames, stream: io.StringIO, text: str) -> None:
    sink.changed(service("a/number", external=text))
    assert f"'{text}'" in stream.getvalue()
