"""A cluster and the questions that its pods ask, made from a seed: manifests as JSON, and files for dnsperf."""

from __future__ import annotations

import json
import random
from pathlib import Path

NAMESPACES = 20
PORTS = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]


def write_cluster(path: Path, services: int) -> None:
    """A List of Services with one ready endpoint each, as `kubectl get -o json` prints it."""
    items: list[dict[str, object]] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns-{n}"}} for n in range(NAMESPACES)
    ]
    for n in range(services):
        meta = {"name": f"svc-{n}", "namespace": f"ns-{n % NAMESPACES}"}
        address = f"10.{100 + n // 65536}.{n // 256 % 256}.{n % 256}"
        spec = {"type": "ClusterIP", "clusterIP": address, "clusterIPs": [address], "ports": PORTS}
        items.append({"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": spec})
        items.append(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": f"svc-{n}-a",
                    "namespace": meta["namespace"],
                    "labels": {"kubernetes.io/service-name": meta["name"]},
                },
                "addressType": "IPv4",
                "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
                "endpoints": [{"addresses": [f"10.{200 + n // 65536}.{n // 256 % 256}.{n % 256}"]}],
            }
        )
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")


def write_mixed(path: Path, services: int, queries: int, seed: int = 1) -> None:
    """What pods with ndots:5 ask: the search list in order, A and AAAA, popular Services first (Zipf)."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(services)]
    lines: list[str] = []
    for n in rng.choices(range(services), weights, k=queries // 4):
        namespace = f"ns-{n % NAMESPACES}"
        name = f"svc-{n}"
        own = rng.random() < 0.5
        spelled = name if own else f"{name}.{namespace}"
        searches = [f"{namespace if own else 'ns-0'}.svc.cluster.local", "svc.cluster.local"]
        for search in searches[:1] if own else searches:
            lines += (f"{spelled}.{search} A", f"{spelled}.{search} AAAA")
    path.write_text("\n".join(lines[:queries]) + "\n", encoding="utf-8")


def write_distinct(path: Path, services: int) -> None:
    """Every Service once."""
    names = (f"svc-{n}.ns-{n % NAMESPACES}.svc.cluster.local A" for n in range(services))
    path.write_text("\n".join(names) + "\n", encoding="utf-8")


def write_missing(path: Path, queries: int, seed: int = 2) -> None:
    """Random names that no Service has."""
    rng = random.Random(seed)
    names = (f"{rng.getrandbits(48):x}.ns-{rng.randrange(NAMESPACES)}.svc.cluster.local A" for _ in range(queries))
    path.write_text("\n".join(names) + "\n", encoding="utf-8")
