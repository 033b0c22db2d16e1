"""The values of the Helm chart: names as in CoreDNS's chart where they mean the same, defaults as in our objects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from waypost.addon import autoscaler, monitoring, server
from waypost.addon.printing import to_yaml
from waypost.addon.settings import Json, Settings
from waypost.addon.template import look_up

_HEAD: Final = "# Made by `waypost manifests --chart FOLDER`: give your own values to Helm, do not change this file.\n"
_CONTAINER: Final = "spec.template.spec.containers.0"
_PLUGIN: Final = re.compile(
    r"    (?P<name>\S+)(?: (?P<parameters>[^{\n]*?))?(?: \{\n(?P<block>(?:       .*\n)*)    \})?\n"
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value of the chart; `closed` objects take the fields they have here and no others."""

    name: str
    default: Any
    comment: str
    closed: bool = True


def chart_values(settings: Settings) -> list[Value]:
    """All of them, in the order of the file. Settings give the defaults."""
    return [
        *_names(settings),
        *_service(settings),
        *_access(),
        *_configuration(settings),
        *_pod(settings),
        *_container(settings),
        *_beside(settings),
    ]


def _names(settings: Settings) -> list[Value]:
    repository, colon, tag = settings.image.rpartition(":")
    if not colon or "/" in tag:  # that colon is before a port
        repository, tag = settings.image, ""
    pull = look_up(server.deployment(settings), f"{_CONTAINER}.imagePullPolicy")
    image = {"repository": repository, "tag": tag, "pullPolicy": pull, "pullSecrets": []}
    return [
        Value("image", image, "pullSecrets are objects with a name."),
        Value(
            "fullnameOverride", "", "Name of the Deployment, ConfigMap and ServiceAccount; without it the release's."
        ),
        Value("k8sAppLabelOverride", settings.app, "Label k8s-app of the pods, by which the Service finds them."),
        Value("isClusterService", True, "Labels of the cluster's DNS, and a pod that asks its node's servers."),
    ]


def _service(settings: Settings) -> list[Value]:
    service = server.service(settings)
    fields = {
        "name": service["metadata"]["name"],
        "clusterIP": service["spec"]["clusterIP"],
        "clusterIPs": [],
        "ipFamilyPolicy": "",
        "annotations": {},
    }
    hint = "clusterIP is what the kubelets name as clusterDNS: `waypost dns-ip CIDR` prints kubeadm's."
    return [
        Value("serviceType", "ClusterIP", "ClusterIP, NodePort or LoadBalancer."),
        Value("service", fields, hint),
    ]


def _access() -> list[Value]:
    account = {"create": True, "name": "", "annotations": {}}
    return [
        Value("serviceAccount", account, "Without a name it is that of the Deployment."),
        Value("rbac", {"create": True}, "ClusterRole and binding."),
    ]


def _configuration(settings: Settings) -> list[Value]:
    return [
        Value("servers", _servers(settings.corefile), "The Corefile, server block by server block.", closed=False),
        Value("zoneFiles", [], "Files beside the Corefile: objects with filename and contents.", closed=False),
        Value("env", [], "Variables of the server, for {$NAME} in the Corefile.", closed=False),
    ]


def _pod(settings: Settings) -> list[Value]:
    deployment = server.deployment(settings)
    spec = deployment["spec"]["template"]["spec"]
    return [
        Value("replicaCount", settings.replicas, "Left to the autoscaler where that is enabled."),
        Value("deployment", {"annotations": {}}, "Annotations of the Deployment."),
        Value("rollingUpdate", look_up(deployment, "spec.strategy.rollingUpdate"), "Of the Deployment.", closed=False),
        Value("podAnnotations", {}, "Of the pod.", closed=False),
        Value("priorityClassName", spec["priorityClassName"], "Of the pod."),
        Value("podSecurityContext", spec["securityContext"], "Of the pod.", closed=False),
        Value("affinity", spec["affinity"], "Of the pod.", closed=False),
        Value("topologySpreadConstraints", spec["topologySpreadConstraints"], "Of the pod.", closed=False),
        Value("tolerations", spec["tolerations"], "Of the pod.", closed=False),
        Value("nodeSelector", spec["nodeSelector"], "Of the pod.", closed=False),
        Value(
            "terminationGracePeriodSeconds",
            spec["terminationGracePeriodSeconds"],
            "Longer than lameduck of the plugin health.",
        ),
        Value("extraVolumes", [], "Of the pod.", closed=False),
        Value("extraContainers", [], "Beside the server.", closed=False),
    ]


def _container(settings: Settings) -> list[Value]:
    container = look_up(server.deployment(settings), _CONTAINER)
    return [
        Value("resources", container["resources"], "Of the server.", closed=False),
        Value("securityContext", container["securityContext"], "Of the server.", closed=False),
        Value("livenessProbe", _probe(container["livenessProbe"]), "Any fields of a probe but httpGet.", closed=False),
        Value("readinessProbe", _probe(container["readinessProbe"]), "The same.", closed=False),
        Value("extraVolumeMounts", [], "Of the server.", closed=False),
    ]


def _beside(settings: Settings) -> list[Value]:
    service = server.service(settings)
    budget = {"maxUnavailable": server.disruption(settings)["spec"]["maxUnavailable"]}
    return [
        Value("podDisruptionBudget", budget, "Empty: none.", closed=False),
        Value(
            "prometheus",
            _prometheus(service),
            "Annotations of the Service; ServiceMonitor and alerts of the operator, Grafana's dashboard.",
        ),
        Value("autoscaler", _autoscaler(settings), "`waypost autoscale` beside the server."),
    ]


def values_yaml(values: list[Value]) -> str:
    """The file values.yaml."""
    return _HEAD + "".join(f"\n# {value.comment}\n{to_yaml({value.name: value.default})}" for value in values)


def values_schema(values: list[Value]) -> Json:
    """The file values.schema.json: Helm refuses a value that this chart does not know, such as a misspelt one."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        # Helm passes `global` to every chart.
        "properties": {"global": {}} | {value.name: _schema(value) for value in values},
    }


def _schema(value: Value) -> Json:
    if value.name == "servers":
        return _SERVERS
    return _typed(value.default, closed=value.closed)


def _typed(default: Any, *, closed: bool) -> Json:
    if isinstance(default, dict):
        if not closed or not default:
            return {"type": "object"}
        fields = {name: _typed(item, closed=name not in _OPEN) for name, item in default.items()}
        return {"type": "object", "additionalProperties": False, "properties": fields}
    return {"type": _TYPES[type(default)]}


_TYPES: Final = {bool: "boolean", int: "integer", str: "string", list: "array"}
_OPEN: Final = ("resources", "annotations", "nodeSelector", "labels")
_SERVERS: Final[Json] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["port", "plugins"],
        "properties": {
            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
            "zones": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {
                        "zone": {"type": "string"},
                        "scheme": {"type": "string"},
                        "use_tcp": {"type": "boolean"},
                    },
                },
            },
            "plugins": {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string"},
                        "parameters": {"type": ["string", "number"]},
                        "configBlock": {"type": "string"},
                    },
                },
            },
        },
    },
}


def _servers(corefile: str) -> list[Json]:
    """The one block of a stock Corefile as a value."""
    label, _, body = corefile.partition(" {\n")
    zone, _, port = label.rpartition(":")
    return [{"zones": [{"zone": zone}], "port": int(port), "plugins": list(_plugins(body))}]


def _plugins(body: str) -> Iterator[Json]:
    for match in _PLUGIN.finditer(body):
        plugin: Json = {"name": match["name"]}
        if match["parameters"]:
            words = match["parameters"]
            plugin["parameters"] = int(words) if words.isdigit() else words
        if match["block"]:
            plugin["configBlock"] = "\n".join(line.strip() for line in match["block"].splitlines())
        yield plugin


def _probe(probe: Json) -> Json:
    return {"enabled": True, **{name: value for name, value in probe.items() if name != "httpGet"}}


def _prometheus(service: Json) -> Json:
    monitor = {"enabled": False, "additionalLabels": {}, "interval": "30s"}
    return {
        "service": {"enabled": True, "annotations": service["metadata"]["annotations"]},
        "monitor": monitor,
        "rules": {"enabled": False, "additionalLabels": {}},
        "dashboard": {"enabled": False, "labels": monitoring.DASHBOARD_LABELS},
    }


def _autoscaler(settings: Settings) -> Json:
    pod = autoscaler.deployment(settings)["spec"]["template"]["spec"]
    return {
        "enabled": False,
        **autoscaler.PARAMS,
        "min": 0,
        "max": 0,
        **{name: pod[name] for name in ("priorityClassName", "tolerations", "nodeSelector")},
        "resources": pod["containers"][0]["resources"],
    }
