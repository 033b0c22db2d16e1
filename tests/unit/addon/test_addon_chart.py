"""The Helm chart, rendered by Helm's own engine: our objects with its defaults, and others by its values."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from support.tree import ROOT
from support.validating import by_name, faults
from waypost import __version__
from waypost.addon import autoscaler, monitoring, server
from waypost.addon.settings import Json, Settings
from waypost.observability.alerts_serving import DEPLOYMENT

helm_python = pytest.importorskip("helm_python", reason="the package helm-python-sdk is not made for this machine")

SETTINGS = Settings(f"waypost:{__version__}")
CHART = ROOT / "charts/waypost"
NAMES = {"name": "coredns", "namespace": "kube-system"}


def rendered(values: Json | None = None, **names: str) -> list[Json]:
    """The chart's objects, without Helm's labels."""
    with helm_python.Chart.load(str(CHART)) as chart:
        texts = chart.render(values or {}, **(NAMES | names))
    found = [obj for text in texts.values() for obj in yaml.safe_load_all(text) if obj]
    for obj in found:
        labels = obj["metadata"]["labels"]
        for label in [name for name in labels if name.startswith(("app.kubernetes.io/", "helm.sh/"))]:
            del labels[label]
        if not labels:
            del obj["metadata"]["labels"]
    return found


def test_chart_with_its_defaults() -> None:
    found = by_name(rendered())
    expected = by_name(server.objects(SETTINGS))
    expected["Service", "kube-dns"]["spec"]["type"] = "ClusterIP"  # the API's default
    assert found == expected


def test_chart_with_autoscaler() -> None:
    found = by_name(rendered({"autoscaler": {"enabled": True}}))
    assert "replicas" not in found["Deployment", "coredns"]["spec"]
    expected = by_name(autoscaler.objects(SETTINGS))
    name = ("ConfigMap", autoscaler.NAME)
    data, expected_data = (each[name].pop("data") for each in (found, expected))
    assert yaml.safe_load(data["linear"]) == yaml.safe_load(expected_data["linear"])
    assert {place: found[place] for place in expected} == expected


def test_chart_with_rules_and_dashboard() -> None:
    watched = {"rules": {"enabled": True}, "dashboard": {"enabled": True}}
    found = by_name(rendered({"prometheus": watched}))
    assert found["PrometheusRule", "coredns"] == monitoring.prometheus_rule(SETTINGS)
    dashboard = monitoring.dashboard_map(SETTINGS)
    assert found["ConfigMap", monitoring.DASHBOARD_NAME] == dashboard
    elsewhere = by_name(rendered({"prometheus": watched}, name="dns", namespace="net"))["PrometheusRule", "dns"]
    text = yaml.safe_dump(elsewhere["spec"])
    assert ('namespace="net", deployment="dns"' in text, DEPLOYMENT in text) == (True, False)


def test_chart_limits_of_the_autoscaler() -> None:
    found = by_name(rendered({"autoscaler": {"enabled": True, "min": 2, "max": 10, "coresPerReplica": 64}}))
    params = yaml.safe_load(found["ConfigMap", autoscaler.NAME]["data"]["linear"])
    assert (params["min"], params["max"], params["coresPerReplica"]) == (2, 10, 64)


EVERYTHING: Json = {
    "image": {"repository": "registry.example/waypost", "pullSecrets": [{"name": "secret"}]},
    "service": {"clusterIP": "", "ipFamilyPolicy": "PreferDualStack", "annotations": {"a": "b"}},
    "serviceAccount": {"name": "other", "annotations": {"c": "d"}},
    "zoneFiles": [{"filename": "example.db", "contents": "@ 60 IN A 192.0.2.1\n; end"}],
    "podAnnotations": {"e": "f"},
    "deployment": {"annotations": {"g": "h"}},
    "env": [{"name": "ZONE", "value": "corp.example"}],
    "extraVolumes": [{"name": "keys", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "keys", "mountPath": "/keys"}],
    "extraContainers": [{"name": "shell", "image": "shell:1"}],
    "prometheus": {"monitor": {"enabled": True, "additionalLabels": {"release": "stack"}}},
    "autoscaler": {"enabled": True},
}


def test_chart_with_every_addition() -> None:
    objects = rendered(EVERYTHING, name="dns", namespace="net")
    assert faults(objects) == []
    found = by_name(objects)
    pod = found["Deployment", "dns"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == found["ClusterRoleBinding", "system:dns"]["subjects"][0]["name"] == "other"
    assert pod["imagePullSecrets"] == [{"name": "secret"}]
    assert pod["containers"][0]["env"] == EVERYTHING["env"]
    assert [container["name"] for container in pod["containers"]] == ["coredns", "shell"]
    assert [volume["name"] for volume in pod["volumes"]] == ["config-volume", "keys"]
    assert pod["volumes"][0]["configMap"]["items"][1] == {"key": "example.db", "path": "example.db"}
    assert found["ConfigMap", "dns"]["data"]["example.db"] == EVERYTHING["zoneFiles"][0]["contents"]
    service = found["Service", "kube-dns"]
    assert service["metadata"]["annotations"]["a"] == "b"
    assert "prometheus.io/port" in service["metadata"]["annotations"]
    assert (service["spec"].get("clusterIP"), service["spec"]["ipFamilyPolicy"]) == (None, "PreferDualStack")
    assert found["ServiceMonitor", "dns"]["metadata"]["labels"] == {"k8s-app": "kube-dns", "release": "stack"}


@pytest.mark.parametrize(
    ("values", "absent"),
    [
        ({"serviceAccount": {"create": False}}, {"ServiceAccount"}),
        ({"rbac": {"create": False}}, {"ClusterRole", "ClusterRoleBinding"}),
        ({"podDisruptionBudget": None}, {"PodDisruptionBudget"}),
    ],
)
def test_chart_without(values: Json, absent: set[str]) -> None:
    assert {kind for kind, _ in by_name(server.objects(SETTINGS))} - {obj["kind"] for obj in rendered(values)} == absent


def test_chart_probes() -> None:
    values = {"livenessProbe": {"enabled": False}, "readinessProbe": {"periodSeconds": 3}}
    container = by_name(rendered(values))["Deployment", "coredns"]["spec"]["template"]["spec"]["containers"][0]
    assert "livenessProbe" not in container
    assert container["readinessProbe"]["periodSeconds"] == 3


SERVERS = [
    {
        "zones": [{"zone": "."}, {"zone": "corp.example", "scheme": "tls://"}],
        "port": 5353,
        "plugins": [
            {"name": "kubernetes", "parameters": "cluster.local", "configBlock": "pods verified\nmulticluster x.test"},
            {"name": "cache", "parameters": 0},
        ],
    },
    {"port": 54, "plugins": [{"name": "whoami"}]},
]


def test_chart_servers() -> None:
    found = by_name(rendered({"servers": SERVERS}))
    assert found["ConfigMap", "coredns"]["data"]["Corefile"] == (
        ".:5353 tls://corp.example:5353 {\n"
        "    kubernetes cluster.local {\n       pods verified\n       multicluster x.test\n    }\n"
        "    cache 0\n"
        "}\n\n.:54 {\n    whoami\n}\n"
    )
    rules = found["ClusterRole", "system:coredns"]["rules"]
    assert rules[0]["resources"] == ["services", "namespaces", "pods"]
    assert rules[2]["resources"] == ["serviceimports"]
    assert [port["targetPort"] for port in found["Service", "kube-dns"]["spec"]["ports"]] == [5353, 5353, 9153]


@pytest.mark.parametrize(
    "values",
    [{"replcaCount": 3}, {"service": {"clusterIp": "10.0.0.10"}}, {"servers": [{"port": 53}]}, {"replicaCount": "2"}],
)
def test_chart_refuses_what_it_does_not_know(values: dict[str, Any]) -> None:
    with pytest.raises(helm_python.HelmError, match="specifications of the schema"):
        rendered(values)
