"""What a name below a cluster zone asks for (Kubernetes DNS specification 1.1.0 section 2)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

SVC = b"svc"
POD = b"pod"
_MAX_LABELS = 5


class Question(NamedTuple):
    """The parts of a name left of the zone, lower case; an absent part is empty, `kind` too for the zone itself.

    `key` is the index key of the Service (or the pod's label and namespace) that it names, `service` its first label.
    `cluster` is where an imported endpoint comes from. `zone` is a topology zone; with `prefer` endpoints elsewhere are
    better than none.
    """

    kind: bytes
    namespace: bytes = b""
    key: bytes = b""
    service: bytes = b""
    endpoint: bytes = b""
    port: bytes = b""
    protocol: bytes = b""
    with_port: bool = False
    cluster: bytes = b""
    zone: bytes = b""
    prefer: bool = False


def parse(prefix: bytes, *, imported: bool = False, zonal: bool = False) -> Question | None:
    """Labels left of the zone (wire form, no end) to a Question, None for a name that has no meaning in a cluster.

    Nothing is the zone, then `<svc|pod>`, `<ns>.<kind>`, `<service>.<ns>.<kind>`, one label more is an endpoint, two
    more are port and protocol, whose leading underscores may be missing. In a zone of imported Services two more
    labels without underscores are an endpoint and its cluster; with `zonal` more labels may name a topology zone:
    `<zone>.<pin|prefer>._zone.<service>.<ns>.svc`.
    """
    starts = []
    i = 0
    size = len(prefix)
    while i < size:
        starts.append(i)
        i += prefix[i] + 1
    count = len(starts)
    if not count:
        return Question(b"")
    kind_at = starts[-1]
    kind = prefix[kind_at + 1 :]
    if kind != SVC and kind != POD:
        return None
    if count > _MAX_LABELS:
        return _parse_zonal(prefix, starts) if zonal and kind == SVC else None
    if count == 1:
        return Question(kind)
    namespace_at = starts[-2]
    namespace = prefix[namespace_at + 1 : kind_at]
    if count == 2:
        return Question(kind, namespace)
    service_at = starts[-3]
    key, service = prefix[service_at:kind_at], prefix[service_at + 1 : namespace_at]
    if count == 3:
        return Question(kind, namespace, key, service)
    if count == 4:
        return Question(kind, namespace, key, service, endpoint=prefix[1:service_at])
    protocol_at = starts[1]
    port, protocol = prefix[1:protocol_at], prefix[protocol_at + 1 : service_at]
    if imported and not port.startswith(b"_") and not protocol.startswith(b"_"):
        return Question(kind, namespace, key, service, endpoint=port, cluster=protocol)
    return Question(
        kind, namespace, key, service, port=strip_underscore(port), protocol=strip_underscore(protocol), with_port=True
    )


def strip_underscore(label: bytes) -> bytes:
    """A port or protocol label as the Service spells it."""
    return label[1:] if label.startswith(b"_") else label


def _parse_zonal(prefix: bytes, starts: list[int]) -> Question | None:
    """A name with a topology zone, whose labels are joined by dots."""
    marker_at, service_at, namespace_at, kind_at = starts[-4:]
    directive_at = starts[-5]
    directive = prefix[directive_at + 1 : marker_at]
    if prefix[marker_at + 1 : service_at] != b"_zone" or directive not in (b"pin", b"prefer"):
        return None
    zone = b".".join(prefix[start + 1 : end] for start, end in pairwise(starts[:-4]))
    return Question(
        SVC,
        prefix[namespace_at + 1 : kind_at],
        prefix[service_at:kind_at],
        prefix[service_at + 1 : namespace_at],
        zone=zone,
        prefer=directive == b"prefer",
    )
