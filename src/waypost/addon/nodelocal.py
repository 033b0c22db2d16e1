"""The cache on every node (`waypost node-cache`), with the names, labels and flags of NodeLocal DNSCache.

Three ways lead a pod's questions to it. `iptables`: it listens on a link-local address and on the address of the
Service kube-dns, whose packets it takes before kube-proxy. `ipvs`: kube-proxy holds that address itself, so it listens
on the link-local one alone, which the kubelets must then name as clusterDNS. `cilium`: Cilium redirects the Service's
packets to the pod of the node, and nothing on the host changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final, Literal, TypeAlias

from waypost.addon.access import service_account
from waypost.addon.settings import Json, Settings

Mode: TypeAlias = Literal["iptables", "ipvs", "cilium"]
NAME: Final = "node-local-dns"
DEFAULT_LOCAL_IP: Final = "169.254.20.10"
_UPSTREAM: Final = "kube-dns-upstream"
_LABELS: Final = {"k8s-app": NAME}
_HEALTH_PORT: Final = 8080
_METRICS_PORT: Final = 9253
_SETUP_METRICS_PORT: Final = 9353
_RUN_FOLDER: Final = "/run/waypost"
_BASE_FOLDER: Final = "/etc/coredns"
_KUBE_DNS_FOLDER: Final = "/etc/kube-dns"
_READY_FILE: Final = f"{_RUN_FOLDER}/ready"
# The server takes 35 MiB, a full cache some 10 MiB, the watch over it 40 MiB. No limit: running out of it stops a node.
_RESOURCES: Final[Json] = {"requests": {"cpu": "25m", "memory": "90Mi"}}


@dataclass(frozen=True, slots=True)
class NodeLocal:
    """How the questions come to the cache, and its own address."""

    mode: Mode = "iptables"
    local_ip: str = DEFAULT_LOCAL_IP

    def addresses(self, settings: Settings) -> tuple[str, ...]:
        """What it listens on."""
        if self.mode == "cilium":
            return ("0.0.0.0",) if ip_address(settings.addresses[0]).version == 4 else ("::",)
        return (self.local_ip,) if self.mode == "ipvs" else (self.local_ip, settings.addresses[0])


def objects(settings: Settings, local: NodeLocal) -> list[Json]:
    """Everything the cache needs beside the server."""
    found = [
        service_account(settings, NAME),
        upstream_service(settings),
        config_map(settings, local),
        daemon_set(settings, local),
        metrics_service(settings),
    ]
    return [*found, redirect_policy(settings)] if local.mode == "cilium" else found


def upstream_service(settings: Settings) -> Json:
    """The server's pods under another address: packets to that of kube-dns would come back to the cache."""
    labels = {**_LABELS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "KubeDNSUpstream"}
    port = settings.needs.dns_port
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": port},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": port},
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": settings.metadata(_UPSTREAM, **labels),
        "spec": {"ports": ports, "selector": settings.selector},
    }


def metrics_service(settings: Settings) -> Json:
    """Headless, for Prometheus."""
    ports = [
        {"name": "metrics", "port": _METRICS_PORT, "protocol": "TCP", "targetPort": _METRICS_PORT},
        {"name": "setup-metrics", "port": _SETUP_METRICS_PORT, "protocol": "TCP", "targetPort": _SETUP_METRICS_PORT},
    ]
    metadata = settings.metadata(NAME, **_LABELS)
    metadata["annotations"] = {"prometheus.io/port": str(_METRICS_PORT), "prometheus.io/scrape": "true"}
    spec = {"clusterIP": "None", "ports": ports, "selector": _LABELS}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def config_map(settings: Settings, local: NodeLocal) -> Json:
    """ConfigMap with the Corefile; what is left between underscores, `waypost node-cache` fills in."""
    data = {"Corefile": corefile(settings, local)}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": settings.metadata(NAME, **_LABELS), "data": data}


def corefile(settings: Settings, local: NodeLocal) -> str:
    """Cluster zones over TCP to the server, everything else over UDP to the upstream servers."""
    health = "" if local.mode == "cilium" else f"[{local.local_ip}]" if ":" in local.local_ip else local.local_ip
    # Where kube-proxy holds the Service's address, nothing comes back from it.
    cluster = settings.addresses[0] if local.mode == "ipvs" else "__PILLAR__CLUSTER__DNS__"
    bind = " ".join(local.addresses(settings))
    zones = (
        (settings.domain, _CLUSTER_CACHE, cluster, f"    health {health}:{_HEALTH_PORT}\n"),
        ("in-addr.arpa", "cache 30", cluster, ""),
        ("ip6.arpa", "cache 30", cluster, ""),
        (".", "cache 30", "__PILLAR__UPSTREAM__SERVERS__", ""),
    )
    return "".join(
        _BLOCK.format(
            zone=zone, cache=cache, bind=bind, server=server, port=_METRICS_PORT, more=more,
            transport=" {\n        force_tcp\n    }" if server == cluster else "",
        )
        for zone, cache, server, more in zones
    )  # fmt: skip


_CLUSTER_CACHE: Final = """cache {
        success 9984 30
        denial 9984 5
    }"""
_BLOCK: Final = """\
{zone}:53 {{
    errors
    {cache}
    reload
    loop
    bind {bind}
    forward . {server}{transport}
    prometheus :{port}
{more}}}
"""


def daemon_set(settings: Settings, local: NodeLocal) -> Json:
    """One pod on each node, whatever its taints; while it is replaced, two, of which the new one answers already."""
    pod: Json = {
        "priorityClassName": "system-node-critical",
        "serviceAccountName": NAME,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        **({} if local.mode == "cilium" else {"hostNetwork": True}),
        "dnsPolicy": "Default",
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"effect": "NoExecute", "operator": "Exists"},
            {"effect": "NoSchedule", "operator": "Exists"},
        ],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [_container(settings, local)],
        "volumes": _volumes(),
    }
    annotations = {"prometheus.io/port": str(_METRICS_PORT), "prometheus.io/scrape": "true"}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": settings.metadata(NAME, **_LABELS),
        "spec": {
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "10%", "maxUnavailable": 0}},
            "selector": {"matchLabels": _LABELS},
            "template": {"metadata": {"labels": _LABELS, "annotations": annotations}, "spec": pod},
        },
    }


def _container(settings: Settings, local: NodeLocal) -> Json:
    probe: Json = {"path": "/health", "port": _HEALTH_PORT, "scheme": "HTTP"}
    capabilities = ["NET_BIND_SERVICE"]
    if local.mode != "cilium":
        probe["host"] = local.local_ip
        capabilities.insert(0, "NET_ADMIN")
    return {
        "name": "node-cache",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "args": _arguments(settings, local),
        "resources": _RESOURCES,
        **_ports(local),
        "readinessProbe": {"exec": {"command": ["test", "-e", _READY_FILE]}, "periodSeconds": 5},
        "livenessProbe": {"httpGet": probe, "initialDelaySeconds": 60, "timeoutSeconds": 5},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": capabilities, "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsUser": 0,
        },
        "volumeMounts": _mounts(),
    }


def _ports(local: NodeLocal) -> Json:
    """None on the host's network: two pods with the same ones could not be on one node."""
    if local.mode != "cilium":
        return {}
    ports = (
        ("dns", 53, "UDP"),
        ("dns-tcp", 53, "TCP"),
        ("metrics", _METRICS_PORT, "TCP"),
        ("setup-metrics", _SETUP_METRICS_PORT, "TCP"),
    )
    return {"ports": [{"name": name, "containerPort": port, "protocol": protocol} for name, port, protocol in ports]}


def _arguments(settings: Settings, local: NodeLocal) -> list[str]:
    addresses = (local.local_ip, settings.addresses[0]) if local.mode != "ipvs" else (local.local_ip,)
    arguments = [
        "node-cache",
        *("-localip", ",".join(addresses)),
        *("-conf", f"{_RUN_FOLDER}/Corefile"),
        *("-basecorefile", f"{_BASE_FOLDER}/Corefile.base"),
        *("-upstreamsvc", _UPSTREAM),
        *("-readyfile", _READY_FILE),
        *("-metrics-listen-address", f":{_SETUP_METRICS_PORT}"),
    ]
    if local.mode == "cilium":
        arguments += ["-skipteardown=true", "-setupinterface=false", "-setupiptables=false"]
    return arguments


def _mounts() -> list[Json]:
    return [
        {"name": "run", "mountPath": _RUN_FOLDER},
        {"name": "config-volume", "mountPath": _BASE_FOLDER, "readOnly": True},
        {"name": "kube-dns-config", "mountPath": _KUBE_DNS_FOLDER, "readOnly": True},
    ]


def _volumes() -> list[Json]:
    base = {"name": NAME, "items": [{"key": "Corefile", "path": "Corefile.base"}]}
    return [
        {"name": "run", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        {"name": "config-volume", "configMap": base},
        {"name": "kube-dns-config", "configMap": {"name": "kube-dns", "optional": True}},
    ]


def redirect_policy(settings: Settings) -> Json:
    """CiliumLocalRedirectPolicy; without a ready cache on the node the questions go to the Service as before."""
    ports = [
        {"name": "dns", "port": "53", "protocol": "UDP"},
        {"name": "dns-tcp", "port": "53", "protocol": "TCP"},
    ]
    frontend = {"serviceMatcher": {"serviceName": "kube-dns", "namespace": settings.namespace}}
    backend = {"localEndpointSelector": {"matchLabels": _LABELS}, "toPorts": ports}
    return {
        "apiVersion": "cilium.io/v2",
        "kind": "CiliumLocalRedirectPolicy",
        "metadata": settings.metadata(NAME),
        "spec": {"redirectFrontend": frontend, "redirectBackend": backend},
    }
