"""Plots as inline SVG.

Places are in per cent of the width, so that texts keep their size on a phone; only the columns themselves are in a
nested drawing that is stretched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import accumulate
from typing import Final

from waypost.querylog.durations import format_duration
from waypost.querylog.report import Durations, Volume

_TOP: Final = 18
_HEIGHT: Final = 140
_BOTTOM: Final = 22
_MOST_LABELS: Final = 5
_DAY: Final = 86_400


def volume_plot(volume: Volume) -> str:
    """Stacked columns of queries over time."""
    intervals = volume.intervals
    most = max(sum(interval.counts) for interval in intervals)
    start, end = intervals[0].start, intervals[-1].start + volume.width
    labels = [_clock(start + (end - start) * share / 2, end - start) for share in range(3)]
    columns = [interval.counts for interval in intervals]
    text = f"Queries in intervals of {volume.width} s, at most {most}, from {labels[0]} to {labels[-1]}"
    places = list(zip((0.0, 50.0, 100.0), labels, strict=True))
    return _columns(text, columns, ("answered", "nxdomain", "failed"), most, places)


def duration_plot(durations: Durations) -> str:
    """Columns of answers by duration, each twice as long as the one before."""
    octaves = durations.octaves
    most = max(octave.number for octave in octaves)
    step = math.ceil(len(octaves) / _MOST_LABELS)
    places = [
        (100 * index / len(octaves), format_duration(octaves[index].low)) for index in range(0, len(octaves), step)
    ]
    text = (
        f"Answers by duration: median {format_duration(durations.p50)}, 99 % within {format_duration(durations.p99)}, "
        f"longest {format_duration(durations.largest)}"
    )
    return _columns(text, [(octave.number,) for octave in octaves], ("answered",), most, places)


def bar(parts: Sequence[tuple[str, float]]) -> str:
    """A bar of parts: class and share (0 to 1) of the cell. Screen readers skip it: the numbers stand beside it."""
    ends = list(accumulate(share for _, share in parts))
    drawn = "".join(
        f'<rect class="{name}" x="{100 * (end - share):.2f}%" width="{100 * share:.2f}%" height="100%"/>'
        for (name, share), end in zip(parts, ends, strict=True)
        if share > 0
    )
    return f'<svg width="100%" height="12" aria-hidden="true">{drawn}</svg>'


def swatch(name: str) -> str:
    """A square in a class's colour, for keys."""
    return f'<svg width="11" height="11" aria-hidden="true"><rect class="{name}" width="11" height="11" rx="2"/></svg>'


def _columns(
    text: str, columns: Sequence[Sequence[int]], names: Sequence[str], most: int, places: Sequence[tuple[float, str]]
) -> str:
    """Stacked columns; the line at the top is `most`; labels below, at places in per cent."""
    frame = f'y="{_TOP}" width="100%" height="{_HEIGHT}" viewBox="0 0 {len(columns)} 100" preserveAspectRatio="none"'
    return "".join(
        (
            f'<svg role="img" width="100%" height="{_TOP + _HEIGHT + _BOTTOM}" aria-label="{escape(text)}">',
            f'<text x="0" y="{_TOP - 5}">{_short(most)}</text>',
            *(f'<line class="grid" x2="100%" y1="{y}" y2="{y}"/>' for y in (_TOP, _TOP + _HEIGHT // 2)),
            f"<svg {frame}>",
            *_rects(columns, names, most),
            "</svg>",
            f'<line class="grid" x2="100%" y1="{_TOP + _HEIGHT}" y2="{_TOP + _HEIGHT}"/>',
            *_labels(places),
            "</svg>",
        )
    )


def _rects(columns: Sequence[Sequence[int]], names: Sequence[str], most: int) -> Iterator[str]:
    """One path for each series: as many rectangles would make the page heavy."""
    width = 0.86 if len(columns) <= 60 else 1
    for series, name in enumerate(names):
        path = ""
        for index, counts in enumerate(columns):
            if counts[series]:
                below, height = (100 * part / most for part in (sum(counts[:series]), counts[series]))
                path += f"M{index + (1 - width) / 2:g} {100 - below:.4g}h{width}v-{height:.4g}h-{width}z"
        if path:
            yield f'<path class="{name}" d="{path}"/>'


def _labels(places: Sequence[tuple[float, str]]) -> Iterator[str]:
    for place, label in places:
        anchor = "start" if place < 1 else "end" if place > 99 else "middle"
        yield f'<text x="{place:g}%" y="{_TOP + _HEIGHT + 16}" text-anchor="{anchor}">{escape(label)}</text>'


def _short(value: float) -> str:
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"


def _clock(time: float, span: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%m-%d %H:%M" if span > _DAY else "%H:%M:%S")
