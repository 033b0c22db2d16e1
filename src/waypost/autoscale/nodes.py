"""The nodes of the cluster as they are now, from a watch."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from waypost.cluster.objects import Meta
from waypost.kube.listwatch import Resource
from waypost.scaling.formula import ClusterSize
from waypost.scaling.nodes import NodeFacts, cluster_size, parse_quantity


class NodeSpec(Struct, gc=False):
    """NodeSpec: whether it is cordoned."""

    unschedulable: bool = False


class NodeCondition(Struct, gc=False):
    """NodeCondition."""

    type: str = ""
    status: str = ""


class NodeStatus(Struct, gc=False):
    """NodeStatus: what pods may use, by resource, and the conditions."""

    # The API writes quantities as text and takes numbers too.
    allocatable: dict[str, Any] | None = None
    conditions: list[NodeCondition] | None = None


class Node(Struct, gc=False):
    """Node."""

    metadata: Meta
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)

    def facts(self) -> NodeFacts:
        """What is counted of it."""
        ready = any(each.type == "Ready" and each.status == "True" for each in self.status.conditions or ())
        cpu = (self.status.allocatable or {}).get("cpu", "")
        return NodeFacts(parse_quantity(str(cpu)), ready and not self.spec.unschedulable)


def nodes(label_selector: str) -> Resource[Node]:
    """The nodes with these labels."""
    return Resource("Node", "/api/v1/nodes", Node, label_selector=label_selector)


class NodeCount:
    """A sink for nodes that keeps only what is counted."""

    def __init__(self) -> None:
        self.changes = 0
        self._known: dict[str, NodeFacts] = {}
        self._listed: set[str] | None = None

    @property
    def size(self) -> ClusterSize:
        """Of the nodes known now."""
        return cluster_size(self._known.values())

    def begin_list(self) -> None:
        """A list starts."""
        self._listed = set()

    def listed(self, obj: Node, /) -> None:
        """A node of the list."""
        if self._listed is not None:
            self._listed.add(obj.metadata.name)
        self.changed(obj)

    def end_list(self) -> None:
        """Nodes that were not listed are gone."""
        if self._listed is not None:
            for name in self._known.keys() - self._listed:
                self.removed("", name)
        self._listed = None

    def abort_list(self) -> None:
        """Nothing is to be removed."""
        self._listed = None

    def changed(self, obj: Node, /) -> None:
        """A node is new, or other than it was."""
        facts = obj.facts()
        if self._known.get(obj.metadata.name) != facts:
            self._known[obj.metadata.name] = facts
            self.changes += 1

    def removed(self, _namespace: str, name: str, /) -> None:
        """A node is gone."""
        if self._known.pop(name, None) is not None:
            self.changes += 1
