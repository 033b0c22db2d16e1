"""Cluster size and parameters to a number of replicas, as cluster-proportional-autoscaler computes it."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from waypost.scaling.params import LadderParams, LinearParams, Params, Step

_MAX_REPLICAS: Final = 2**31 - 1  # spec.replicas is an int32


class ClusterSize(NamedTuple):
    """How large a cluster is; cores are whole ones of allocatable CPU. Schedulable nodes are ready and not cordoned."""

    nodes: int
    schedulable_nodes: int
    cores: int
    schedulable_cores: int

    def counted(self, unschedulable: bool) -> tuple[int, int]:
        """(nodes, cores), with or without those that take no pods."""
        if unschedulable:
            return self.nodes, self.cores
        return self.schedulable_nodes, self.schedulable_cores


class Wanted(NamedTuple):
    """What the cores ask for and what the nodes ask for; the larger number wins."""

    by_cores: int
    by_nodes: int

    @property
    def replicas(self) -> int:
        """For `spec.replicas`."""
        return min(max(self), _MAX_REPLICAS)


def wanted(params: Params, size: ClusterSize) -> Wanted:
    """How many replicas a cluster of this size should have."""
    nodes, cores = size.counted(params.include_unschedulable_nodes)
    if isinstance(params, LadderParams):
        return Wanted(_step(params.cores_to_replicas, cores), _step(params.nodes_to_replicas, nodes))
    by_cores = _share(params, cores, params.cores_per_replica)
    by_nodes = _share(params, nodes, params.nodes_per_replica)
    if params.prevent_single_point_failure and nodes > 1:
        by_nodes = max(by_nodes, 2)  # even above max
    return Wanted(by_cores, by_nodes)


def _share(params: LinearParams, amount: int, per_replica: float) -> int:
    """min counts only for what is measured: without `per_replica` it is 1."""
    if not per_replica:
        return 1
    quotient = amount / per_replica
    replicas = math.ceil(quotient) if math.isfinite(quotient) else _MAX_REPLICAS
    return max(params.min, min(replicas, params.max) if params.max else replicas)


def _step(steps: tuple[Step, ...], amount: int) -> int:
    """The last step that was reached; the first one also below its threshold."""
    reached = [step.replicas for step in steps if step.threshold <= amount]
    if reached:
        return reached[-1]
    return steps[0].replicas if steps else 0
