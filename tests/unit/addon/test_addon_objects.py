"""The objects, judged by the API's schemas and by what is known of kubeadm's CoreDNS add-on."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import yaml

from support.tree import ROOT
from support.validating import by_name, faults
from waypost.addon import autoscaler, nodelocal, server
from waypost.addon.bundle import Parts, objects
from waypost.addon.nodelocal import Mode, NodeLocal
from waypost.addon.printing import documents
from waypost.addon.settings import Json, Needs, Settings
from waypost.addon.template import look_up
from waypost.corefile.stock import stock_corefile

IMAGE = "registry.example/waypost:1.2.3"
SETTINGS = Settings(IMAGE)
MODES: tuple[Mode, ...] = ("iptables", "ipvs", "cilium")
POD = "spec.template.spec"
CONTAINER = f"{POD}.containers.0"

KUBEADM: dict[tuple[str, str], dict[str, Any]] = {
    ("ServiceAccount", "coredns"): {"metadata.namespace": "kube-system"},
    ("ClusterRoleBinding", "system:coredns"): {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
        "subjects": [{"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"}],
    },
    ("Service", "kube-dns"): {
        "metadata.namespace": "kube-system",
        "metadata.labels": {
            "k8s-app": "kube-dns",
            "kubernetes.io/cluster-service": "true",
            "kubernetes.io/name": "CoreDNS",
        },
        "metadata.annotations": {"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
        "spec": {
            "clusterIP": "10.96.0.10",
            "ports": [
                {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
                {"name": "metrics", "port": 9153, "protocol": "TCP", "targetPort": 9153},
            ],
            "selector": {"k8s-app": "kube-dns"},
        },
    },
    ("Deployment", "coredns"): {
        "metadata.namespace": "kube-system",
        "metadata.labels": {"k8s-app": "kube-dns"},
        "spec.replicas": 2,
        "spec.strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "spec.selector": {"matchLabels": {"k8s-app": "kube-dns"}},
        "spec.template.metadata.labels": {"k8s-app": "kube-dns"},
        f"{POD}.priorityClassName": "system-cluster-critical",
        f"{POD}.serviceAccountName": "coredns",
        f"{POD}.affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "podAffinityTerm": {
                            "labelSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
                            "topologyKey": "kubernetes.io/hostname",
                        },
                    }
                ]
            }
        },
        f"{POD}.tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
        ],
        f"{POD}.nodeSelector": {"kubernetes.io/os": "linux"},
        f"{POD}.dnsPolicy": "Default",
        f"{POD}.volumes": [
            {
                "name": "config-volume",
                "configMap": {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]},
            }
        ],
        f"{CONTAINER}.name": "coredns",
        f"{CONTAINER}.imagePullPolicy": "IfNotPresent",
        f"{CONTAINER}.args": ["-conf", "/etc/coredns/Corefile"],
        f"{CONTAINER}.resources": {"requests": {"cpu": "100m", "memory": "70Mi"}, "limits": {"memory": "170Mi"}},
        f"{CONTAINER}.ports": [
            {"name": "dns", "containerPort": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "containerPort": 53, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9153, "protocol": "TCP"},
            {"name": "liveness-probe", "containerPort": 8080, "protocol": "TCP"},
            {"name": "readiness-probe", "containerPort": 8181, "protocol": "TCP"},
        ],
        f"{CONTAINER}.livenessProbe": {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        f"{CONTAINER}.readinessProbe": {"httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}},
        f"{CONTAINER}.securityContext.allowPrivilegeEscalation": False,
        f"{CONTAINER}.securityContext.capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        f"{CONTAINER}.securityContext.readOnlyRootFilesystem": True,
        f"{CONTAINER}.volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    },
}
"""What kubeadm 1.36 writes, but for the image and the rules of the ClusterRole."""


def everything(settings: Settings, mode: Mode) -> list[Json]:
    parts = Parts(
        autoscaler=True, node_local=NodeLocal(mode), service_monitor=True, prometheus_rules=True, dashboards=True
    )
    return objects(settings, parts)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "settings",
    [
        SETTINGS,
        Settings(IMAGE, ("fd00:10:96::a",), replicas=None),
        Settings(IMAGE, ("10.96.0.10", "fd00:10:96::a"), needs=Needs(5353, None, None, None, 0.0, ())),
    ],
    ids=["stock", "ipv6", "bare"],
)
def test_the_schemas_take_them(settings: Settings, mode: Mode) -> None:
    assert faults(everything(settings, mode)) == []


def test_the_schemas_find_a_fault() -> None:
    deployment = server.deployment(SETTINGS)
    deployment["spec"]["replica"] = 2
    assert len(faults([deployment])) == 2


@pytest.mark.parametrize("place", KUBEADM, ids=" ".join)
def test_as_kubeadm_writes_them(place: tuple[str, str]) -> None:
    obj = by_name(server.objects(SETTINGS))[place]
    assert {path: look_up(obj, path) for path in KUBEADM[place]} == KUBEADM[place]


def test_the_stock_corefile_is_that_of_the_example() -> None:
    example = ROOT / "src/waypost/manifests/example/Corefile"
    assert server.config_map(SETTINGS)["data"] == {"Corefile": example.read_text(encoding="utf-8")}


def test_stub_domains_get_blocks_of_their_own() -> None:
    text = stock_corefile("k8s.test", ("192.0.2.1", "192.0.2.2"), {"corp.example.": ("192.0.2.3:5353",)})
    assert "kubernetes k8s.test in-addr.arpa" in text
    assert "\n    forward . 192.0.2.1 192.0.2.2 {\n" in text
    assert "\n}\n\ncorp.example:53 {\n" in text
    assert "    forward . 192.0.2.3:5353 {\n" in text


def test_rights_are_those_that_the_corefile_needs() -> None:
    def rules(*reads: str) -> list[Json]:
        role = by_name(server.access(Settings(IMAGE, needs=Needs(reads=reads))))["ClusterRole", "system:coredns"]
        return [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in role["rules"]]

    verbs = ["list", "watch"]
    assert rules("/services", "discovery.k8s.io/endpointslices", "/pods") == [
        ([""], ["services", "pods"], verbs),
        (["discovery.k8s.io"], ["endpointslices"], verbs),
    ]
    assert rules() == []


def test_more_than_kubeadm() -> None:
    pod = look_up(server.deployment(SETTINGS), POD)
    assert pod["securityContext"] == {"seccompProfile": {"type": "RuntimeDefault"}}
    assert pod["containers"][0]["securityContext"]["runAsNonRoot"]
    assert pod["topologySpreadConstraints"][0]["whenUnsatisfiable"] == "ScheduleAnyway"
    assert server.disruption(SETTINGS)["spec"]["maxUnavailable"] == 1


@pytest.mark.parametrize(("lameduck", "seconds"), [(0.0, 25), (5.0, 30), (0.5, 25), (60.0, 85)])
def test_the_end_of_a_pod_waits_for_lameduck(lameduck: float, seconds: int) -> None:
    deployment = server.deployment(Settings(IMAGE, needs=Needs(lameduck=lameduck)))
    assert look_up(deployment, f"{POD}.terminationGracePeriodSeconds") == seconds


def test_two_addresses() -> None:
    spec = server.service(Settings(IMAGE, ("fd00:10:96::a", "10.96.0.10")))["spec"]
    assert spec["clusterIPs"] == ["fd00:10:96::a", "10.96.0.10"]
    assert (spec["clusterIP"], spec["ipFamilyPolicy"]) == ("fd00:10:96::a", "RequireDualStack")


@pytest.mark.parametrize("mode", MODES)
def test_names_lead_to_objects(mode: Mode) -> None:
    """What an object names is there, and stands before it where it is needed at once."""
    found = everything(SETTINGS, mode)
    order = list(by_name(found))
    for obj in found:
        if obj["kind"] not in ("Deployment", "DaemonSet"):
            continue
        here = order.index((obj["kind"], obj["metadata"]["name"]))
        pod = obj["spec"]["template"]["spec"]
        assert order.index(("ServiceAccount", pod["serviceAccountName"])) < here
        for volume in pod.get("volumes", ()):
            config = volume.get("configMap", {"optional": True})
            assert config.get("optional") or order.index(("ConfigMap", config["name"])) < here
        mounted = {mount["name"] for container in pod["containers"] for mount in container.get("volumeMounts", ())}
        assert mounted == {volume["name"] for volume in pod.get("volumes", ())}


def test_the_autoscaler_may_set_one_scale() -> None:
    found = by_name(autoscaler.objects(SETTINGS))
    rules = found["Role", autoscaler.NAME]["rules"]
    assert {"patch"} == {verb for rule in rules for verb in rule["verbs"] if rule["apiGroups"] == ["apps"]} - {"get"}
    assert [rule["resourceNames"] for rule in rules if rule["resources"] == ["deployments/scale"]] == [["coredns"]]
    assert found["ClusterRole", f"system:{autoscaler.NAME}"]["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
    ]


@pytest.mark.parametrize(
    ("mode", "bind", "cluster"),
    [
        ("iptables", "169.254.20.10 10.96.0.10", "__PILLAR__CLUSTER__DNS__"),
        ("ipvs", "169.254.20.10", "10.96.0.10"),
        ("cilium", "0.0.0.0", "__PILLAR__CLUSTER__DNS__"),
    ],
)
def test_node_local_corefile(mode: Mode, bind: str, cluster: str) -> None:
    text = nodelocal.corefile(SETTINGS, NodeLocal(mode))
    assert text.count(f"    bind {bind}\n") == 4
    assert text.count(f"    forward . {cluster} {{\n        force_tcp\n    }}\n") == 3
    assert text.count("    forward . __PILLAR__UPSTREAM__SERVERS__\n") == 1
    health = "" if mode == "cilium" else "169.254.20.10"
    assert text.count(f"    health {health}:8080\n") == text.count("health") == 1


def test_node_local_ipv6() -> None:
    settings, local = Settings(IMAGE, ("fd00:10:96::a",)), NodeLocal(local_ip="fd00::20:10")
    assert "health [fd00::20:10]:8080\n" in nodelocal.corefile(settings, local)
    arguments = look_up(nodelocal.daemon_set(settings, local), f"{CONTAINER}.args")
    assert arguments[:3] == ["node-cache", "-localip", "fd00::20:10,fd00:10:96::a"]


def test_cilium_changes_nothing_on_the_host() -> None:
    found = by_name(nodelocal.objects(SETTINGS, NodeLocal("cilium")))
    pod = found["DaemonSet", "node-local-dns"]["spec"]["template"]["spec"]
    assert "hostNetwork" not in pod
    assert pod["containers"][0]["securityContext"]["capabilities"]["add"] == ["NET_BIND_SERVICE"]
    assert pod["containers"][0]["args"][-3:] == ["-skipteardown=true", "-setupinterface=false", "-setupiptables=false"]
    assert not any("hostPath" in volume for volume in pod["volumes"])
    names = [
        port["name"]
        for port in found["CiliumLocalRedirectPolicy", "node-local-dns"]["spec"]["redirectBackend"]["toPorts"]
    ]
    assert names == ["dns", "dns-tcp"]


@pytest.mark.parametrize("mode", MODES)
def test_yaml_says_the_same(mode: Mode) -> None:
    found = everything(SETTINGS, mode)
    text = documents(found)
    assert list(yaml.safe_load_all(text)) == found
    assert "&id" not in text


def test_yaml_keeps_the_order_of_fields() -> None:
    for obj in everything(SETTINGS, "iptables"):
        assert list(itertools.islice(obj, 3)) == ["apiVersion", "kind", "metadata"]
        assert documents([obj]).startswith(f"apiVersion: {obj['apiVersion']}\nkind: {obj['kind']}\nmetadata:\n")
