"""Kubernetes objects in a few words, as the JSON that an API server sends."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def api_namespace(name: str) -> Json:
    return {"kind": "Namespace", "metadata": {"name": name}}


def api_service(
    where: str, *addresses: str, external: str = "", ports: tuple[tuple[str, int], ...] = (("http", 80),), **meta: Any
) -> Json:
    """`where` is `namespace/name`; no address and no external name: headless."""
    namespace, name = where.split("/")
    spec: Json = {"type": "ClusterIP", "ports": [{"name": n, "port": p, "protocol": "TCP"} for n, p in ports]}
    if external:
        spec |= {"type": "ExternalName", "externalName": external}
    else:
        spec |= {"clusterIP": (addresses or ("None",))[0], "clusterIPs": list(addresses or ("None",))}
    return {"kind": "Service", "metadata": {"name": name, "namespace": namespace, **meta}, "spec": spec}


def api_slice(
    where: str,
    *endpoints: str | Json,
    of: str = "",
    ports: tuple[tuple[str | None, int], ...] = (("http", 8080),),
    kind: str = "IPv4",
) -> Json:
    """Endpoints are addresses or objects; `of` is the Service, without it the slice's name up to the last dash."""
    namespace, name = where.split("/")
    labels = {"kubernetes.io/service-name": of or name.rpartition("-")[0]}
    shown = [{"addresses": [each]} if isinstance(each, str) else each for each in endpoints]
    return {
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "addressType": kind,
        "endpoints": shown,
        "ports": [{"name": n, "port": p, "protocol": "TCP"} for n, p in ports],
    }


def api_pod(where: str, address: str, *, phase: str = "Running", deleted: bool = False, **labels: str) -> Json:
    namespace, name = where.split("/")
    meta: Json = {"name": name, "namespace": namespace, "labels": labels}
    meta |= {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleted else {}
    return {"kind": "Pod", "metadata": meta, "status": {"phase": phase, "podIP": address}}
