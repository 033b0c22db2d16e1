"""The few requests that the autoscaler makes, typed. Each raises ClusterError or one of its kinds."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct, field

from waypost.autoscale.settings import Target
from waypost.cluster.objects import Meta
from waypost.kube.client import ApiClient
from waypost.kube.errors import ApiProtocolError

_MERGE: Final = "application/merge-patch+json"

T = TypeVar("T")


class ConfigMap(Struct):
    """ConfigMap."""

    metadata: Meta
    data: dict[str, str] = field(default_factory=dict)


class ScaleSpec(Struct):
    """ScaleSpec."""

    replicas: int = 0


class Scale(Struct):
    """Scale of autoscaling/v1."""

    spec: ScaleSpec = field(default_factory=ScaleSpec)


class LeaseSpec(Struct, rename="camel", omit_defaults=True):
    """LeaseSpec; times are RFC 3339 with microseconds."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Struct):
    """Lease of coordination.k8s.io/v1."""

    metadata: Meta
    spec: LeaseSpec = field(default_factory=LeaseSpec)


class Api:
    """Requests in one namespace."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self._client = client
        self._core = f"/api/v1/namespaces/{namespace}"
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._namespace = namespace

    async def config_map(self, name: str) -> ConfigMap:
        """The ConfigMap."""
        return await self._get(f"{self._core}/configmaps/{name}", ConfigMap)

    async def create_config_map(self, name: str, data: dict[str, str]) -> ConfigMap:
        """A new ConfigMap."""
        value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": self._meta(name), "data": data}
        return await self._send("POST", f"{self._core}/configmaps", value, ConfigMap)

    async def replicas(self, target: Target) -> int:
        """What the target's scale asks for."""
        return (await self._get(target.scale_path(self._namespace), Scale)).spec.replicas

    async def scale(self, target: Target, replicas: int) -> None:
        """Ask for so many replicas; nothing else of the target is touched."""
        await self._send("PATCH", target.scale_path(self._namespace), {"spec": {"replicas": replicas}}, Scale, _MERGE)

    async def lease(self, name: str) -> Lease:
        """The lease."""
        return await self._get(f"{self._leases}/{name}", Lease)

    async def create_lease(self, name: str, spec: LeaseSpec) -> Lease:
        """A new lease; a conflict (409) means that somebody was faster."""
        return await self._send("POST", self._leases, self._lease(self._meta(name), spec), Lease)

    async def update_lease(self, name: str, version: str, spec: LeaseSpec) -> Lease:
        """The lease changed, if it is still of this resource version; else a conflict (409)."""
        meta = {**self._meta(name), "resourceVersion": version}
        return await self._send("PUT", f"{self._leases}/{name}", self._lease(meta, spec), Lease)

    async def create_event(self, event: dict[str, Any]) -> None:
        """Tell the cluster."""
        await self._send("POST", f"{self._core}/events", event, dict[str, Any])

    def _meta(self, name: str) -> dict[str, str]:
        return {"name": name, "namespace": self._namespace}

    @staticmethod
    def _lease(meta: dict[str, str], spec: LeaseSpec) -> dict[str, Any]:
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}

    async def _get(self, path: str, kind: type[T]) -> T:
        return _decode(await self._client.get_json_bytes(path, {}), kind)

    async def _send(
        self, method: str, path: str, value: object, kind: type[T], content_type: str = "application/json"
    ) -> T:
        content = msgspec.json.encode(value)
        return _decode(await self._client.send_json_bytes(method, path, content, content_type), kind)


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
        raise ApiProtocolError(f"expected a {kind.__name__}: {exc}") from exc
