"""What the autoscaler counts."""

from __future__ import annotations

from waypost.metrics.registry import Registry
from waypost.scaling.formula import ClusterSize, Wanted

_ALL = "all"
_SCHEDULABLE = "schedulable"


class Metrics:
    """Cells of one process."""

    def __init__(self, registry: Registry) -> None:
        nodes = registry.gauge("waypost_autoscaler_nodes", "Nodes of the cluster, by whether they count.", ("counted",))
        cores = registry.gauge(
            "waypost_autoscaler_cores", "Allocatable cores of the cluster, rounded up, by whether they count.",
            ("counted",),
        )  # fmt: skip
        self._sizes = [(family, kind) for family in (nodes, cores) for kind in (_ALL, _SCHEDULABLE)]
        self._wanted = registry.gauge(
            "waypost_autoscaler_wanted_replicas", "Replicas that the parameters ask for, by what asks.", ("by",)
        )
        self._replicas = registry.gauge(
            "waypost_autoscaler_replicas", "Replicas that a target's scale asks for.", ("target",)
        )
        self._polls = registry.counter("waypost_autoscaler_polls_total", "Polls by their result.", ("result",))
        self._changes = registry.counter(
            "waypost_autoscaler_changes_total", "Changes of a target's scale.", ("target", "direction")
        )
        self._leads = registry.gauge("waypost_autoscaler_leader", "1 while this process is the one that acts.").labels()
        for result in ("done", "failed", "waiting"):
            self._polls.labels(result)

    def sized(self, size: ClusterSize) -> None:
        """The cluster has this size."""
        for (family, kind), value in zip(self._sizes, size, strict=True):
            family.labels(kind).set(value)

    def asked(self, wanted: Wanted) -> None:
        """The parameters ask for this."""
        self._wanted.labels("cores").set(wanted.by_cores)
        self._wanted.labels("nodes").set(wanted.by_nodes)

    def found(self, target: str, replicas: int) -> None:
        """A target's scale is this."""
        self._replicas.labels(target).set(replicas)

    def changed(self, target: str, before: int, after: int) -> None:
        """A target was scaled."""
        self._changes.labels(target, "up" if after > before else "down").inc()
        self.found(target, after)

    def polled(self, result: str) -> None:
        """A poll ended: `done`, `failed`, or `waiting` while another process leads."""
        self._polls.labels(result).inc()

    def leading(self, leads: bool) -> None:
        """Whether we act."""
        self._leads.set(float(leads))
