"""What is counted of the nodes of a cluster: how many there are, and their allocatable CPU."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, NamedTuple

from waypost.scaling.formula import ClusterSize

_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40}))"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]{1,2}))?",
    re.ASCII,
)
_SUFFIXES: Final = {"": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3")}
_SUFFIXES.update({suffix: Decimal(10) ** (3 * power) for power, suffix in enumerate("kMGTPE", 1)})
_SUFFIXES.update({f"{suffix}i": Decimal(1024) ** power for power, suffix in enumerate("KMGTPE", 1)})


class NodeFacts(NamedTuple):
    """One node: its allocatable CPU in cores, and whether it takes pods (ready, not cordoned; taints are nothing)."""

    cpu: Decimal
    schedulable: bool


def parse_quantity(text: str) -> Decimal:
    """A quantity of the Kubernetes API (`3920m`, `4`, `1e3`); 0 for nothing and for what is none."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return Decimal(0)
    exponent = Decimal(10) ** int(match["exponent"] or 0)
    return Decimal(match["number"]) * _SUFFIXES[match["suffix"] or ""] * exponent


def cluster_size(nodes: Iterable[NodeFacts]) -> ClusterSize:
    """The sums. CPU is rounded up to whole cores once, after adding."""
    everything = list(nodes)
    schedulable = [node for node in everything if node.schedulable]
    return ClusterSize(len(everything), len(schedulable), _cores(everything), _cores(schedulable))


def _cores(nodes: Iterable[NodeFacts]) -> int:
    return math.ceil(sum((node.cpu for node in nodes), Decimal(0)))
