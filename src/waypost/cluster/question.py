"""What a name below a cluster zone asks for (Kubernetes DNS specification 1.1.0 section 2)."""

from __future__ import annotations

from typing import NamedTuple

SVC = b"svc"
POD = b"pod"


class Question(NamedTuple):
    """The parts of a name left of the zone, lower case; an absent part is empty, `kind` too for the zone itself."""

    kind: bytes
    namespace: bytes = b""
    service: bytes = b""
    endpoint: bytes = b""
    port: bytes = b""
    protocol: bytes = b""
    with_port: bool = False


def parse(labels: list[bytes]) -> Question | None:
    """Labels left of the zone to a Question, None for a name that has no meaning in a cluster.

    `[]` is the zone, then `<svc|pod>`, `<ns>.<kind>`, `<service>.<ns>.<kind>`, one label more is an endpoint, two more
    are port and protocol, whose leading underscores may be missing.
    """
    count = len(labels)
    if not count:
        return Question(b"")
    kind = labels[-1]
    if kind not in (SVC, POD) or count > 5:
        return None
    if count < 4:
        namespace = labels[-2] if count > 1 else b""
        return Question(kind, namespace, labels[-3] if count > 2 else b"")
    if count == 4:
        return Question(kind, labels[2], labels[1], endpoint=labels[0])
    return Question(kind, labels[3], labels[2], port=_strip(labels[0]), protocol=_strip(labels[1]), with_port=True)


def _strip(label: bytes) -> bytes:
    return label[1:] if label.startswith(b"_") else label
