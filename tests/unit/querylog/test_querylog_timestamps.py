"""Times of lines, and times and durations as users give them."""

from __future__ import annotations

import pytest

from support.querylog import NOW
from waypost.querylog.durations import format_duration, parse_duration
from waypost.querylog.timestamps import Clock, format_moment, parse_moment


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-01T10:40:00Z", "2024-05-01T10:40:00Z"),
        ("2024-05-01 10:40:00,123 x", "2024-05-01T10:40:00Z"),
        ("2024-05-01T10:40:00", "2024-05-01T10:40:00Z"),
        ("2024-05-01T10:40:00-05:00", "2024-05-01T15:40:00Z"),
        ("2024-05-01 10:40:00 UTC", "2024-05-01T10:40:00Z"),
        ("I0531 23:59:59.5 x", "2024-05-31T23:59:59Z"),
        ("I0601 12:00:00 x", "2024-06-01T12:00:00Z"),
        ("W1231 23:59:59.5 x", "2023-12-31T23:59:59Z"),
        ("E0229 00:00:00 x", "2024-02-29T00:00:00Z"),
    ],
)
def test_times_of_lines(text: str, moment: str) -> None:
    found = Clock(NOW).find(f"prefix {text}")
    assert found is not None
    assert format_moment(found) == moment


@pytest.mark.parametrize(
    "text", ["", "x", "2024-05-32T10:40:00Z", "I0230 00:00:00", "10:40:00", "1969-01-01T00:00:00Z"]
)
def test_no_times(text: str) -> None:
    assert Clock(NOW).find(text) is None


def test_a_time_beyond_the_end_does_not_count() -> None:
    assert Clock(NOW).find("x 2024-05-01T10:40:00Z", 5) is None


def test_lines_of_one_second_and_of_the_next() -> None:
    clock = Clock(NOW)
    texts = ("10:40:00.5Z", "10:40:00.75Z", "10:40:01Z", "10:40:00Z", "10:40:00+01:00")
    found = [clock.find(f"2024-05-01T{text}") for text in texts]
    assert [None if each is None else each - 1_714_560_000 for each in found] == [0.5, 0.75, 1, 0, -3600]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0.000123s", 0.000123), ("142.282\u00b5s", 142.282e-6), ("142.282\u03bcs", 142.282e-6), ("12us", 12e-6),
        ("1.5ms", 0.0015), ("10ns", 1e-8), ("1m2.5s", 62.5), ("2h30m", 9000), ("1d", 86400), (".5s", 0.5),
        ("", None), ("5", None), ("s", None), ("-1s", None), ("1e3s", None), ("1s x", None), ("nans", None),
        ("99999999s", None), ("9" * 400 + "s", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert parse_duration(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 us"),
        (1.42e-4, "142 us"),
        (0.0031, "3.1 ms"),
        (0.9994, "999 ms"),
        (5, "5 s"),
        (61.25, "61.2 s"),
        (5000, "5,000 s"),
    ],
)
def test_durations_shown(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-01T10:40:00Z", "2024-05-01T10:40:00Z"),
        ("2024-05-01T10:40", "2024-05-01T10:40:00Z"),
        ("2024-05-01", "2024-05-01T00:00:00Z"),
        ("2024-05-01T10:40:00+02:00", "2024-05-01T08:40:00Z"),
        ("90m", "2024-05-31T22:30:00Z"),
    ],
)
def test_moments(text: str, moment: str) -> None:
    assert format_moment(parse_moment(text, NOW)) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "5", "2024-13-01"])
def test_no_moments(text: str) -> None:
    with pytest.raises(ValueError, match="expected a time such as"):
        parse_moment(text, NOW)
