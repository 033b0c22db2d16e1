"""The example cluster that comes with the package."""

from __future__ import annotations

from importlib.resources import files

from support.tree import ROOT
from waypost.manifests.addresses import Ranges
from waypost.manifests.documents import split
from waypost.manifests.resolve import resolve


def test_example_cluster() -> None:
    documents = []
    example = files("waypost.manifests") / "example"
    for path in sorted((path for path in example.iterdir() if path.name.endswith(".yaml")), key=lambda path: path.name):
        found, problems = split(path.read_text(encoding="utf-8"), path.name)
        assert problems == []
        documents += found
    cluster = resolve(documents, Ranges())
    assert cluster.problems == ()
    spec = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item["spec"]
        for item in cluster.objects
        if item["kind"] == "Service"
    }
    assert spec["kube-system", "kube-dns"]["clusterIP"] == "10.96.0.10"
    assert [port["name"] for port in spec["kube-system", "kube-dns"]["ports"]] == ["dns", "dns-tcp", "metrics"]
    assert spec["shop", "web"]["ports"][0]["name"] == "http"
    assert spec["shop", "web"]["clusterIP"] == "10.102.190.150"
    assert len(spec["shop", "basket"]["clusterIPs"]) == 2
    assert spec["shop", "payments"]["externalName"] == "pay.example.com"
    counts: dict[str, int] = {}
    hosts = set()
    for item in cluster.objects:
        if item["kind"] == "EndpointSlice":
            service = item["metadata"]["labels"]["kubernetes.io/service-name"]
            counts[service] = counts.get(service, 0) + len(item["endpoints"])
            hosts |= {(service, endpoint.get("hostname")) for endpoint in item["endpoints"]}
    assert counts == {"kubernetes": 1, "kube-dns": 2, "web": 3, "basket": 4, "db": 2, "warehouse": 2}
    assert {("db", "db-0"), ("db", "db-1"), ("warehouse", "north")} < hosts
    addresses = {
        endpoint["hostname"]: endpoint["addresses"][0]
        for item in cluster.objects
        if item["kind"] == "EndpointSlice"
        for endpoint in item["endpoints"]
        if "hostname" in endpoint
    }
    tour = (ROOT / "README.md").read_text(encoding="utf-8")
    for address in (spec["shop", "web"]["clusterIP"], addresses["db-0"]):
        assert f"\n    {address}\n" in tour, "the README shows what the example answers"
