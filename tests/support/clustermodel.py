"""What a cluster's names should answer, by brute force from the objects as the API has them. Slow and simple.

Answers are sets of record data as text; `NODATA` and `NXDOMAIN` stand in a set alone. The zone is `cluster.local.`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]
Answer = set[str]
ZONE = "cluster.local."
MISSING: Answer = {"NXDOMAIN"}
FAMILY = {"A": 4, "AAAA": 6}


class ClusterModel:
    """The objects, by kind and by (namespace, name); to be changed by the test."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[tuple[str, str], Json]] = {
            kind: {} for kind in ("Service", "EndpointSlice", "Pod", "Namespace")
        }

    def exists(self, namespace: str) -> bool:
        """Whether there is this namespace."""
        return ("", namespace) in self.objects["Namespace"]

    def service(self, namespace: str, name: str, qtype: str, endpoint: str = "", port: str = "") -> Answer:
        """`[ENDPOINT.|_PORT._tcp.]NAME.NAMESPACE.svc`."""
        item = self.objects["Service"].get((namespace, name))
        if item is None or not self.exists(namespace):
            return MISSING
        spec, own = item["spec"], f"{name}.{namespace}.svc.{ZONE}"
        if spec["type"] == "ExternalName":
            if endpoint or port:
                return MISSING
            return {spec["externalName"]} if qtype == "CNAME" else {"NODATA"}
        if spec["clusterIPs"] != ["None"] and not endpoint:
            ports = [each["port"] for each in spec["ports"] if port in ("", each["name"])]
            if port and not ports:
                return MISSING
            return answer(qtype, [(address, own, number) for number in ports or [0] for address in spec["clusterIPs"]])
        found = [
            (address, f"{label}.{own}", number["port"])
            for slice_, label, address in self.endpoints(namespace, name)
            if endpoint in ("", label)
            for number in slice_["ports"]
            if port in ("", number["name"])
        ]
        return answer(qtype, found) if found else MISSING

    def endpoints(self, namespace: str, name: str) -> Iterator[tuple[Json, str, str]]:
        """Ready endpoints of a Service: their slice, label and address."""
        for (where, _), item in sorted(self.objects["EndpointSlice"].items()):
            if where == namespace and item["metadata"]["labels"].get("kubernetes.io/service-name") == name:
                for endpoint in item["endpoints"]:
                    if endpoint["conditions"].get("ready") is not False:
                        for address in endpoint["addresses"]:
                            yield item, endpoint.get("hostname") or dashed(address), address

    def reverse(self, address: str) -> Answer:
        """PTR."""
        for (namespace, name), item in self.objects["Service"].items():
            if address in item["spec"].get("clusterIPs", ()):
                return {f"{name}.{namespace}.svc.{ZONE}"}
        owners = {
            (namespace, item["metadata"]["labels"].get("kubernetes.io/service-name"))
            for (namespace, _), item in self.objects["EndpointSlice"].items()
        }
        return {
            f"{label}.{name}.{namespace}.svc.{ZONE}"
            for namespace, name in owners
            if name
            for _, label, other in self.endpoints(namespace, name)
            if other == address
        } or MISSING

    def pod(self, namespace: str, address: str, qtype: str) -> Answer:
        """`ADDRESS.NAMESPACE.pod` with `pods verified`."""
        there = any(
            where == namespace and item["status"].get("podIP") == address
            for (where, _), item in self.objects["Pod"].items()
        )
        return answer(qtype, [(address, "", 0)]) if there and self.exists(namespace) else MISSING


def answer(qtype: str, items: Iterable[tuple[str, str, int]]) -> Answer:
    """Addresses with the name and port (0: none) at which they are."""
    items = list(items)
    if qtype == "SRV":
        weight = max(1, 100 // len(items)) if items else 0
        return {f"0 {weight} {port} {target}" for _, target, port in items if port} or {"NODATA"}
    version = FAMILY.get(qtype)
    return {each for each, _, _ in items if ipaddress.ip_address(each).version == version} or {"NODATA"}


def dashed(address: str) -> str:
    """An address as a label."""
    label = str(ipaddress.ip_address(address)).replace(".", "-").replace(":", "-")
    return f"{label}0" if label.endswith("-") else label
