"""What a panel is, and the expressions that most of them are made of."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

PICKED: Final = 'job=~"$job", instance=~"$instance"'
"""Which targets are shown: variables of the dashboard."""
_WINDOW: Final = "$__rate_interval"
"""Grafana's own variable: a window that holds four scrapes or more."""

Unit: TypeAlias = Literal["short", "reqps", "ops", "percentunit", "s", "bytes", "none"]
"""Of Grafana."""


class Query(NamedTuple):
    """PromQL, and what a line is called: labels in `{{}}`."""

    expr: str
    legend: str


class Panel(NamedTuple):
    """A plot over time, or with `stat` a number; `limits` are from where it is orange, and from where red."""

    title: str
    unit: Unit
    about: str
    queries: tuple[Query, ...]
    stacked: bool = False
    stat: bool = False
    limits: tuple[float, float] | None = None


class Row(NamedTuple):
    """Panels under a heading. One that is `folded` costs no queries before somebody opens it."""

    title: str
    panels: tuple[Panel, ...]
    folded: bool = False


def picked(metric: str, only: str = "") -> str:
    """A metric of the chosen targets; `only` are more matchers."""
    return f"{metric}{{{PICKED}{f', {only}' if only else ''}}}"


def rate(by: str, metric: str, only: str = "") -> str:
    """A counter's increase per second, added up by labels, or altogether with none."""
    grouping = f" by ({by})" if by else ""
    return f"sum{grouping} (rate({picked(metric, only)}[{_WINDOW}]))"


def quantile(part: float, by: str, histogram: str) -> str:
    """A quantile of a histogram's observations, by labels."""
    return f"histogram_quantile({part}, {rate(f'{by}, le' if by else 'le', f'{histogram}_bucket')})"


def share(some: str, whole: str) -> str:
    """A part of a whole, 0 while the part has never been seen."""
    return f"({some} or vector(0)) / {whole}"
