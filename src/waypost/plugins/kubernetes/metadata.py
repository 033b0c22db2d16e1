"""What the kubernetes plugin knows of a query and its client, as metadata labels with their values."""

from __future__ import annotations

from collections.abc import Iterator

from waypost.cluster.clients import client_namespace, client_pod
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.question import parse
from waypost.wire import names


def client_facts(index: Index, packed: bytes) -> Iterator[tuple[str, str]]:
    """Namespace, name and labels of the pod that asks from this address."""
    namespace = client_namespace(index, packed)
    if not namespace:
        return
    yield "kubernetes/client-namespace", _text(namespace)
    pod = client_pod(index, packed)
    if pod:
        yield "kubernetes/client-pod-name", pod[1 : 1 + pod[0]].decode("utf-8", "replace")
        for label, value in index.pod_labels.get(pod, ()):
            yield f"kubernetes/client-label/{label}", value


def question_facts(name: bytes, zone: bytes, policy: Policy) -> Iterator[tuple[str, str]]:
    """The parts of a lower-case name within `zone`; absent ones are empty."""
    question = parse(names.relative(name, zone), imported=policy.imported, zonal=policy.zonal)
    if question is None:
        yield "kubernetes/parse-error", "invalid query name"
        return
    yield "kubernetes/port-name", _text(question.port)
    yield "kubernetes/protocol", _text(question.protocol)
    yield "kubernetes/endpoint", _text(question.endpoint)
    yield "kubernetes/service", _text(question.service)
    yield "kubernetes/namespace", _text(question.namespace)
    yield "kubernetes/kind", _text(question.kind)
    if question.cluster:
        yield "kubernetes/cluster", _text(question.cluster)
    if question.zone:
        yield "kubernetes/zone", question.zone.decode("latin-1")


def _text(label: bytes) -> str:
    """A label as it stands in a name's text."""
    return names.to_text(bytes((len(label),)) + label + names.ROOT)[:-1] if label else ""
