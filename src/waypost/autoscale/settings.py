"""What the command line says: targets, parameters' ConfigMap, rhythm, and how much may be changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

_GROUPS: Final = {
    "deployment": "/apis/apps/v1",
    "replicaset": "/apis/apps/v1",
    "replicationcontroller": "/api/v1",
}
_API_KINDS: Final = {
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "replicationcontroller": "ReplicationController",
}


class SettingsError(Exception):
    """A flag's value that cannot be used."""


class Target(NamedTuple):
    """Something with a scale, in the autoscaler's namespace; `kind` is `deployment`, `replicaset`, ..."""

    kind: str
    name: str

    @property
    def api_kind(self) -> str:
        """The kind as the API writes it."""
        return _API_KINDS[self.kind]

    @property
    def api_version(self) -> str:
        """The apiVersion of its kind."""
        return _GROUPS[self.kind].rpartition("apis/")[2].removeprefix("/api/")

    def scale_path(self, namespace: str) -> str:
        """Where its scale is."""
        return f"{_GROUPS[self.kind]}/namespaces/{namespace}/{self.kind}s/{self.name}/scale"

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in seconds. `max_sync_failures` 0 is no limit; `default_params` is the data of a new ConfigMap."""

    namespace: str
    configmap: str
    targets: tuple[Target, ...]
    poll_period: float = 10.0
    node_labels: str = ""
    default_params: Mapping[str, str] | None = None
    max_sync_failures: int = 0
    hold: float = 0.0
    """How long fewer replicas must be enough before there are fewer."""
    dry_run: bool = False
    leader_elect: bool = False
    identity: str = ""
    """Who we are in the lease; different for each process."""


def parse_targets(text: str) -> tuple[Target, ...]:
    """`deployment/coredns,deployment/other` in any case. Raises SettingsError."""
    targets = []
    for part in text.lower().split(","):
        kind, slash, name = part.strip().partition("/")
        if kind not in _GROUPS or not slash or not name or "/" in name:
            expected = ", ".join(f"{each}/NAME" for each in _GROUPS)
            raise SettingsError(f"--target: expected {expected}, got '{part.strip()}'")
        targets.append(Target(kind, name))
    return tuple(targets)


def parse_default_params(text: str) -> dict[str, str]:
    """A JSON object of objects as a ConfigMap's data: each value compact, its keys sorted. Raises SettingsError."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise SettingsError(f"--default-params: not JSON: {exc}") from exc
    if not isinstance(value, dict) or not all(isinstance(item, dict) for item in value.values()):
        raise SettingsError(
            '--default-params: expected an object of objects such as {"linear": {"nodesPerReplica": 16}}'
        )
    return {key: json.dumps(item, separators=(",", ":"), sort_keys=True) for key, item in value.items()}
