"""Which data a question is about: Question x index -> items, before any record type is considered.

None means that the name does not exist; an empty list that it exists without data (a namespace, the zone).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from waypost.cluster.entries import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    HEADLESS,
    Ports,
    ServiceEntry,
    Slice,
    dashed,
    endpoint_label,
)
from waypost.cluster.index import Index
from waypost.cluster.policy import PODS_DISABLED, PODS_INSECURE, Policy
from waypost.cluster.question import POD, Question
from waypost.wire import addr

_SVC_LABEL = b"\x03svc"
_POD_LABEL = b"\x03pod"


class Item(NamedTuple):
    """One address (packed) or host name (wire form) with a port (-1: none) and its name left of the zone."""

    packed: bytes
    host: bytes
    port: int
    prefix: bytes


Items = list[Item]


def exposes(index: Index, policy: Policy, namespace: bytes) -> bool:
    """True if the namespace exists and is not hidden by the `namespaces` option."""
    return namespace in index.namespaces and (policy.namespaces is None or namespace in policy.namespaces)


def find(index: Index, policy: Policy, question: Question) -> Items | None:
    """The items a question is about; None: the name does not exist (reference order of the kubernetes plugin)."""
    if not question.kind:
        return []
    if question.kind == POD:
        return _find_pod(index, policy, question)
    if not question.namespace:
        return []
    if not exposes(index, policy, question.namespace):
        return None
    if not question.service:
        return []
    entry = index.services.get(question.key)
    return None if entry is None else _service_items(index, policy, question, entry)


def _service_items(index: Index, policy: Policy, question: Question, entry: ServiceEntry) -> Items | None:
    slices = index.endpoints.by_service.get(question.key, ()) if policy.endpoints else ()
    if policy.ignore_empty_service and entry.kind == CLUSTER_IP and not any(endpoints for _, endpoints in slices):
        return None
    prefix = question.key + _SVC_LABEL
    if question.zone:
        return _zonal_items(slices, question, prefix) if entry.kind == HEADLESS else None
    if entry.kind == EXTERNAL_NAME:
        if question.endpoint or question.with_port or not entry.target:
            return None
        return [Item(b"", entry.target, -1, prefix)]
    if policy.imported and question.endpoint and not question.cluster:
        return None
    if entry.kind == HEADLESS or question.endpoint:
        return list(endpoint_items(slices, question, prefix, imported=policy.imported)) or None
    ports = matching(entry.ports, question)
    if not ports:
        return None
    return [Item(packed, b"", number, prefix) for number in ports for packed in entry.addresses]


def _zonal_items(slices: tuple[Slice, ...], question: Question, prefix: bytes) -> Items:
    """The endpoints of one topology zone; none at all is no data. `prefer` takes those of every zone then."""
    there = tuple((ports, tuple(e for e in endpoints if e[3] == question.zone)) for ports, endpoints in slices)
    items = list(endpoint_items(there, question, prefix))
    return items or (list(endpoint_items(slices, question, prefix)) if question.prefer else [])


def endpoint_items(
    slices: tuple[Slice, ...], question: Question, prefix: bytes, *, imported: bool = False
) -> Iterator[Item]:
    """One item for each endpoint and port that fit the question.

    Their names are a label before `prefix`, and for imported endpoints one for their cluster between.
    """
    wanted, cluster = question.endpoint, question.cluster
    for ports, endpoints in slices:
        numbers = matching(ports, question)
        if not numbers:
            continue
        for endpoint in endpoints:
            label = endpoint_label(endpoint)
            if (wanted and label != wanted) or (cluster and endpoint[3] != cluster):
                continue
            name = bytes((len(label),)) + label
            if imported:
                name += bytes((len(endpoint[3]),)) + endpoint[3]
            name += prefix
            for number in numbers:
                yield Item(endpoint[0], endpoint[2], number, name)


def matching(ports: Ports, question: Question) -> list[int]:
    """Port numbers that fit; an empty port or protocol label fits all."""
    port, protocol = question.port, question.protocol
    if not question.with_port:
        return [number for number, _, _ in ports]
    return [
        number
        for number, name, proto in ports
        if number >= 0 and (not port or name == port) and (not protocol or proto == protocol)
    ]


def _find_pod(index: Index, policy: Policy, question: Question) -> Items | None:
    if not question.namespace:
        return []
    if policy.pods == PODS_DISABLED or not exposes(index, policy, question.namespace):
        return None
    if not question.service:
        return []
    packed = pod_address(question.service)
    if packed is None:
        return None
    if policy.pods != PODS_INSECURE and not _is_pod(index, question, packed):
        return None
    return [Item(packed, b"", 0, question.key + _POD_LABEL)]


def pod_address(label: bytes) -> bytes | None:
    """The address that a pod's label spells: three dashes are an IPv4 address, else dashes are colons."""
    text = label.decode("latin-1")
    dotted = text.count("-") == 3 and "--" not in text
    return addr.pack(text.replace("-", "." if dotted else ":"))


def _is_pod(index: Index, question: Question, packed: bytes) -> bool:
    """A pod with this address in this namespace, asked for by the canonical spelling of the address."""
    if dashed(packed) != question.service:
        return False
    return any(key[key[0] + 2 :] == question.namespace for key in index.pods.get(packed, ()))
