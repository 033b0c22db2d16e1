"""What the simulated API server knows: kinds, objects and their history, and what it does wrong."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]
Key = tuple[str, str]


class Kind(NamedTuple):
    """A kind as the API names it."""

    name: str
    version: str
    prefix: str
    namespaced: bool = True


KINDS = {
    "services": Kind("Service", "v1", "/api/v1"),
    "pods": Kind("Pod", "v1", "/api/v1"),
    "namespaces": Kind("Namespace", "v1", "/api/v1", namespaced=False),
    "endpointslices": Kind("EndpointSlice", "discovery.k8s.io/v1", "/apis/discovery.k8s.io/v1"),
    "nodes": Kind("Node", "v1", "/api/v1", namespaced=False),
}
PLURAL = {kind.name: plural for plural, kind in KINDS.items()}
REFUSED_INITIAL_EVENTS = (
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
)


class Change(NamedTuple):
    """An entry of the server's history."""

    version: int
    plural: str
    type: str
    object: Json


@dataclass
class Faults:
    """What the server does wrong at present."""

    refuse: int = 0
    """Answer every request with this HTTP status."""
    retry_after: int = 0
    """Seconds in the Retry-After header of such answers."""
    delay: float = 0.0
    """Seconds before every answer."""
    freeze: bool = False
    """Keep watches open but send nothing."""
    close_at_once: int = 0
    """End this many watches as soon as they begin."""
    garbage: bytes = b""
    """Send this as the next event of every watch, once."""
    body: bytes = b""
    """Answer the next LIST with this, once."""
    no_initial_events: bool = False
    """Refuse initial events, as a server whose etcd is too old."""
    expire_continue: int = 0
    """Answer this many requests with a continue token by 410."""
    token: str = ""
    """Demand this bearer token."""
    lose: int = 0
    """Keep this many changes from every watch, for ever."""
    twice: bool = False
    """Send every event of a watch twice."""
    backwards: bool = False
    """Send the events that wait for a watch in the wrong order."""
    stale_lists: bool = False
    """Answer every LIST with the version 1, as a server that lags behind."""
    forbidden: str = ""
    """Answer requests for this plural by 403, as without the rights."""


@dataclass
class Store:
    """The objects, their history, and everything the handlers share. `changed` guards it."""

    window: int = 1000
    bookmark_every: float = 60.0
    changed: threading.Condition = field(default_factory=threading.Condition)
    faults: Faults = field(default_factory=Faults)
    objects: dict[str, dict[Key, Json]] = field(default_factory=lambda: {plural: {} for plural in KINDS})
    history: list[Change] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    version: int = 0
    floor: int = 0
    """The oldest version that a watch may start from."""
    cuts: int = 0
    watches: int = 0

    def note(self, plural: str, type_: str, obj: Json) -> None:
        """Adds to the history, which forgets what is beyond the window."""
        if self.faults.lose:
            self.faults.lose -= 1
            return
        self.history.append(Change(self.version, plural, type_, obj))
        if len(self.history) > self.window:
            self.floor = self.history[-self.window].version
            del self.history[: -self.window]
        self.changed.notify_all()


def key_of(obj: Json) -> Key:
    """Namespace and name of an object."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def status(code: int, reason: str, message: str) -> Json:
    """A metav1.Status."""
    head = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**head, "message": message, "reason": reason, "code": code}
