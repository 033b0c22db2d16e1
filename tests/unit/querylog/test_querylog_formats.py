"""Formats of the log plugin, read back."""

from __future__ import annotations

import json

import pytest
import re2

from support.querylog import NOW
from waypost.querylog import formats
from waypost.querylog.formats import COMBINED, COMMON, FormatError, layout_of
from waypost.querylog.lines import LineReader
from waypost.querylog.record import Query
from waypost.querylog.timestamps import Clock
from waypost.toolkit import replacer


def read(text: str, line: str) -> Query | None:
    layout = layout_of(text)
    return LineReader(Clock(NOW), json.loads, layout, re2.compile(layout.pattern).fullmatch).read(line)


def test_they_are_the_log_plugins() -> None:
    assert (COMMON, COMBINED) == (replacer.COMMON, replacer.COMBINED)
    assert set(formats.PATTERNS) == set(replacer._FIELDS)


@pytest.mark.parametrize(
    ("text", "line", "query"),
    [
        (
            "{remote} {name} {rcode}",
            "[INFO] 10.0.0.1 example.org. NXDOMAIN",
            Query("example.org.", "", "NXDOMAIN", "10.0.0.1"),
        ),
        ("{combined}", '[INFO] 10.0.0.1:5 - 6 "A IN a. udp 2 true 512" NOERROR qr 3 0.5s "0"',
         Query("a.", "A", "NOERROR", "10.0.0.1", 0.5, None, "5/6")),
        ("{common} {/kubernetes/client-namespace}",
         '[INFO] 10.0.0.1:5 - 6 "A IN a. udp 2 true 512" NOERROR qr 3 0.5s my shop',
         Query("a.", "A", "NOERROR", "10.0.0.1", 0.5, None, "5/6")),
        ("{name}, {type}, {unknown} 100%", "[INFO] a\\ b., MX, {unknown} 100%", Query("a\\ b.", "MX")),
        ("[{remote}] {name}", "[INFO] [10.0.0.1] a.", Query("a.", client="10.0.0.1")),
        ("{remote} {name}", "[INFO] [2001:db8::1] a.", Query("a.", client="2001:db8::1")),
        ("{name} {name} {>id}", "[INFO] a. a. 5", Query("a.")),
        ("{remote}:{port} {>id} {name}", "2024-05-01T10:40:00Z 10.0.0.1:5 6 a.",
         Query("a.", client="10.0.0.1", time=1_714_560_000.0, tag="5/6")),
        ('{"n":"{name}"}', '[INFO] {"n":"a\\.b."}', Query("a\\046b.")),
    ],
)  # fmt: skip
def test_lines_of_a_custom_format(text: str, line: str, query: Query) -> None:
    assert read(text, line) == query


def test_a_line_of_another_format_is_no_query() -> None:
    assert read("{remote} {name} {rcode}", '[INFO] 10.0.0.1:5 - 6 "A IN a. udp 2 true 512" NOERROR qr 3 0.5s') is None


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{remote} {rcode}", "without {name}"),
        ("no placeholder", "without {name}"),
        ("{name}{type}", "where {type} begins"),
    ],
)
def test_formats_that_cannot_be_read(text: str, fault: str) -> None:
    with pytest.raises(FormatError, match=fault):
        layout_of(text)


def test_a_hostile_line_takes_no_time() -> None:
    """A backtracking matcher would not come back from this within the life of the test."""
    text = "{name}-{/a/b}-{/c/d}-{/e/f} {rcode}"
    assert read(text, "[INFO] " + "-" * 100_000) is None
