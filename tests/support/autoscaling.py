"""A cluster in memory for the autoscaler's parts: what `Api` does, without HTTP."""

from __future__ import annotations

import io
from typing import Any

from waypost.autoscale.api import ConfigMap, Lease, LeaseSpec
from waypost.autoscale.settings import Target
from waypost.cluster.objects import Meta
from waypost.kube.errors import ApiStatusError, ApiUnreachable
from waypost.log import Log

COREDNS = Target("deployment", "coredns")


class FakeApi:
    """Objects by name; `down` lets everything fail, `denied` the methods of these names."""

    def __init__(self, **replicas: int) -> None:
        self.scales = {Target("deployment", name): count for name, count in replicas.items()}
        self.maps: dict[str, dict[str, str]] = {}
        self.leases: dict[str, LeaseSpec] = {}
        self.events: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.denied: set[str] = set()
        self.down = False
        self.version = 0

    async def config_map(self, name: str) -> ConfigMap:
        self._call("config_map")
        return ConfigMap(Meta(name, resource_version=str(self.version)), self._found(self.maps, name))

    async def create_config_map(self, name: str, data: dict[str, str]) -> ConfigMap:
        self._call("create_config_map")
        self.put(name, data)
        return ConfigMap(Meta(name, resource_version=str(self.version)), data)

    async def replicas(self, target: Target) -> int:
        self._call("replicas")
        return self._found(self.scales, target)

    async def scale(self, target: Target, replicas: int) -> None:
        self._call("scale")
        self.scales[target] = replicas

    async def lease(self, name: str) -> Lease:
        self._call("lease")
        return self._lease(name)

    async def create_lease(self, name: str, spec: LeaseSpec) -> Lease:
        self._call("create_lease")
        if name in self.leases:
            raise ApiStatusError(409, "AlreadyExists", "it exists")
        return self._write(name, spec)

    async def update_lease(self, name: str, version: str, spec: LeaseSpec) -> Lease:
        self._call("update_lease")
        if version != str(self.version):
            raise ApiStatusError(409, "Conflict", "somebody was faster")
        return self._write(name, spec)

    async def create_event(self, event: dict[str, Any]) -> None:
        self._call("create_event")
        self.events.append(event)

    def put(self, name: str, data: dict[str, str]) -> None:
        """Set a ConfigMap."""
        self.version += 1
        self.maps[name] = data

    def _write(self, name: str, spec: LeaseSpec) -> Lease:
        self.version += 1
        self.leases[name] = spec
        return self._lease(name)

    def _lease(self, name: str) -> Lease:
        return Lease(Meta(name, resource_version=str(self.version)), self._found(self.leases, name))

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.down:
            raise ApiUnreachable("i/o timeout")
        if name in self.denied:
            raise ApiStatusError(403, "Forbidden", f"{name} is forbidden")

    @staticmethod
    def _found(objects: dict[Any, Any], name: Any) -> Any:
        if name not in objects:
            raise ApiStatusError(404, "NotFound", f"{name} not found")
        return objects[name]


class Clock:
    """Monotonic seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def memory_log() -> tuple[Log, io.StringIO]:
    """A log and what it wrote."""
    stream = io.StringIO()
    return Log(stream), stream
