"""A cluster whose DNS is as it should be, object by object as `kubectl get -o json` gives them, to be made ill."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from waypost.diagnosis.checks import CHECKS, diagnose
from waypost.diagnosis.facts import Cluster, Configuration, Facts, NodeFiles, NodeText, Probe, Probes
from waypost.diagnosis.finding import Finding
from waypost.diagnosis.objects import KINDS
from waypost.diagnosis.reading import read_object
from waypost.podside.policy import Kubelet

Json = dict[str, Any]

IP = "10.96.0.10"
DNS_LABELS = {"k8s-app": "kube-dns"}
COREFILE = """\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
"""
KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
"""
LONG_AGO, EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", datetime(2026, 1, 9, tzinfo=UTC)
CONNTRACK = """\
entries  clashres found new invalid ignore delete chainlength insert insert_failed drop early_drop icmp_error  expect_new expect_create expect_delete search_restart
00000012  00000000 00000000 00000000 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000  00000000 00000000 00000000 00000000
00000012  00000000 00000000 00000000 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000  00000000 00000000 00000000 00000000
"""  # noqa: E501 - as the kernel writes it


def _object(kind: str, name: str, namespace: str = "kube-system", version: str = "v1", **fields: Any) -> Json:
    meta: Json = {"name": name, "creationTimestamp": LONG_AGO}
    meta |= {"namespace": namespace} if namespace else {}
    meta |= fields.pop("metadata", {})
    return {"kind": kind, "apiVersion": version, "metadata": meta, **fields}


def container() -> Json:
    return {
        "name": "coredns",
        "image": "registry.k8s.io/coredns/coredns:v1.14.2",
        "args": ["-conf", "/etc/coredns/Corefile"],
        "ports": [
            {"containerPort": 53, "name": "dns", "protocol": "UDP"},
            {"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"},
            {"containerPort": 9153, "name": "metrics", "protocol": "TCP"},
        ],
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }


def pod_spec() -> Json:
    items = [{"key": "Corefile", "path": "Corefile"}]
    return {
        "containers": [container()],
        "dnsPolicy": "Default",
        "serviceAccountName": "coredns",
        "priorityClassName": "system-cluster-critical",
        "volumes": [{"name": "config-volume", "configMap": {"name": "coredns", "items": items}}],
    }


def dns_pod(name: str, address: str, node: str) -> Json:
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "192.0.2.1",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [
            {"name": "coredns", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": EARLIER}}}
        ],
    }
    return _object("Pod", name, metadata={"labels": DNS_LABELS}, spec=pod_spec() | {"nodeName": node}, status=status)


def client(name: str, namespace: str = "shop", labels: dict[str, str] | None = None, **spec: Any) -> Json:
    """A running pod that asks."""
    fields = {"spec": {"containers": [{"name": "app", "image": "app:1"}], "dnsPolicy": "ClusterFirst", **spec}}
    status = {"phase": "Running", "podIP": "10.244.3.7", "hostIP": "192.0.2.3"}
    return _object("Pod", name, namespace, metadata={"labels": labels or {"app": name}}, status=status, **fields)


def namespace(name: str, **labels: str) -> Json:
    return _object("Namespace", name, "", metadata={"labels": {"kubernetes.io/metadata.name": name, **labels}})


def policy(name: str, namespace: str = "shop", **spec: Any) -> Json:
    """A NetworkPolicy; `podSelector` is empty unless given."""
    return _object("NetworkPolicy", name, namespace, "networking.k8s.io/v1", spec={"podSelector": {}, **spec})


def endpoint_slice(*endpoints: Json) -> Json:
    ports = [
        {"name": name, "port": 53, "protocol": protocol} for name, protocol in (("dns", "UDP"), ("dns-tcp", "TCP"))
    ]
    labels = {"kubernetes.io/service-name": "kube-dns"}
    fields: Json = {"addressType": "IPv4", "endpoints": list(endpoints), "ports": ports}
    return _object("EndpointSlice", "kube-dns-x1", version="discovery.k8s.io/v1", metadata={"labels": labels}, **fields)


def objects() -> dict[str, Json]:
    """`Kind/name` -> object of the healthy cluster: kubeadm's DNS with a budget, and one client."""
    service_ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
        {"name": "metrics", "port": 9153, "protocol": "TCP", "targetPort": 9153},
    ]
    rbac, account = (
        "rbac.authorization.k8s.io/v1",
        {"kind": "ServiceAccount", "name": "coredns", "namespace": "kube-system"},
    )
    verbs = ["list", "watch"]
    rules = [
        {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": verbs},
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": verbs},
    ]
    template = {"metadata": {"labels": DNS_LABELS}, "spec": pod_spec()}
    ready = {"ready": True}
    everything = [
        _object(
            "Service", "kube-dns",
            spec={"clusterIP": IP, "clusterIPs": [IP], "selector": DNS_LABELS, "ports": service_ports},
        ),
        endpoint_slice(
            {"addresses": ["10.244.1.2"], "conditions": ready, "nodeName": "node-1"},
            {"addresses": ["10.244.2.2"], "conditions": ready, "nodeName": "node-2"},
        ),
        _object("Deployment", "coredns", version="apps/v1", spec={"replicas": 2, "template": template}),
        dns_pod("coredns-a", "10.244.1.2", "node-1"),
        dns_pod("coredns-b", "10.244.2.2", "node-2"),
        client("web"),
        namespace("kube-system"),
        namespace("shop"),
        _object("ConfigMap", "coredns", data={"Corefile": COREFILE}),
        _object("ConfigMap", "kubelet-config", data={"kubelet": KUBELET}),
        _object(
            "PodDisruptionBudget", "coredns", version="policy/v1",
            spec={"maxUnavailable": 1, "selector": {"matchLabels": DNS_LABELS}},
        ),
        _object("ClusterRole", "system:coredns", "", rbac, rules=rules),
        _object(
            "ClusterRoleBinding", "system:coredns", "", rbac,
            roleRef={"name": "system:coredns"}, subjects=[account],
        ),
        *(
            _object("Node", name, "", status={"nodeInfo": {"kubeletVersion": "v1.36.1"}})
            for name in ("node-1", "node-2")
        ),
    ]  # fmt: skip
    return {f"{each['kind']}/{each['metadata']['name']}": copy.deepcopy(each) for each in everything}


def cluster(items: Iterable[Json], **fields: Any) -> Cluster:
    """As a collector gives it; every kind is known."""
    found: dict[type, list[Any]] = {kind: [] for kind in KINDS.values()}
    for item in items:
        obj = read_object(item)
        assert obj is not None, item
        found[type(obj)].append(obj)
    return Cluster(found, **{"version": "v1.36.1", **fields})


def node_files(resolv_conf: str = "nameserver 192.0.2.53\nsearch corp.example\n", **files: Any) -> NodeFiles:
    kept = {
        "kubelet": Kubelet((IP,), "cluster.local"),
        "resolv_conf": NodeText("/etc/resolv.conf", resolv_conf.encode("utf-8", "surrogateescape")),
        "conntrack": NodeText("/proc/net/stat/nf_conntrack", CONNTRACK.encode()),
        "conntrack_count": NodeText("/proc/sys/net/netfilter/nf_conntrack_count", b"120\n"),
        "conntrack_max": NodeText("/proc/sys/net/netfilter/nf_conntrack_max", b"262144\n"),
    }
    return NodeFiles(**{**kept, **files})


def configuration(**fields: Any) -> Configuration:
    """What the healthy Corefile gives."""
    found = {
        "source": "ConfigMap kube-system/coredns",
        "directives": frozenset(("kubernetes", "forward", "cache", "loop", "reload")),
        "zones": frozenset(("cluster.local", "in-addr.arpa", "ip6.arpa")),
        "upstreams": ("/etc/resolv.conf",),
        "advice": (),
    }
    return Configuration(**{**found, **fields})


def facts(items: Iterable[Json] | None = None, **fields: Any) -> Facts:
    """Everything known and healthy, apart from what is given."""
    kept: Json = {
        "cluster": cluster(objects().values() if items is None else items),
        "node": node_files(),
        "configuration": configuration(),
        "upstreams": Probes(
            (Probe("192.0.2.53:53", "UDP", 0.01, "NOERROR"), Probe("192.0.2.53:53", "TCP", 0.02, "NOERROR"))
        ),
        "service_answers": Probes((Probe(f"{IP}:53", "UDP", 0.001, "NOERROR"),)),
        "now": NOW,
    }
    return Facts(**{**kept, **fields})


def changed(*changes: Callable[[dict[str, Json]], object]) -> list[Json]:
    """The healthy objects after each of the changes."""
    found = objects()
    for change in changes:
        change(found)
    return list(found.values())


def findings(code: str, given: Facts) -> list[Finding]:
    """What one check says."""
    return list(diagnose(given, [check for check in CHECKS if check.code == code]))


def verdicts(code: str, given: Facts) -> list[str]:
    return [finding.verdict.value for finding in findings(code, given)]
