"""What an alert is, and the expressions that most of them are made of.

Metrics that begin with `coredns_` are CoreDNS's, too: such alerts are called ClusterDNS... and watch either server.
Those called Waypost... need metrics of ours.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

FLEET: Final = "cluster, namespace, job"
"""Labels of all replicas of one DNS together; a label that is not there counts as empty."""
REPLICA: Final = f"{FLEET}, pod, instance"
"""Labels of one replica."""

Severity: TypeAlias = Literal["critical", "warning", "info"]
"""Somebody must look now; today; when there is time."""


class Alert(NamedTuple):
    """`value` (PromQL) is compared by `fires`, such as `> 0.01`; both must hold for `minutes`, and so must `only_if`.

    `summary` is a line, `meaning` says what clients notice. Both may hold Prometheus's templates.
    """

    name: str
    value: str
    fires: str
    minutes: int
    severity: Severity
    summary: str
    meaning: str
    only_if: str = ""

    @property
    def expr(self) -> str:
        """The whole condition."""
        return f"{self.value} {self.fires}" + (f"\nand {self.only_if}" if self.only_if else "")

    @property
    def page(self) -> str:
        """What says what to do, relative to the project's root."""
        return f"docs/operate/monitoring.md#{self.name.lower()}"


def rate(by: str, metric: str, window: str = "5m", before: str = "") -> str:
    """A counter's increase per second, added up by labels; `before` looks at an earlier time."""
    offset = f" offset {before}" if before else ""
    return f"sum by ({by}) (rate({metric}[{window}]{offset}))"


def quantile(part: float, by: str, histogram: str, window: str = "5m") -> str:
    """A quantile of a histogram's observations, by labels."""
    return f"histogram_quantile({part}, {rate(f'{by}, le', f'{histogram}_bucket', window)})"
