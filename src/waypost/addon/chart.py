"""The Helm chart: the same objects with the chart's values in their places, as files."""

from __future__ import annotations

import copy
import json
from typing import Any, Final

from waypost.addon import autoscaler, monitoring, server
from waypost.addon.access import reading_rules
from waypost.addon.chart_values import chart_values, values_schema, values_yaml
from waypost.addon.printing import to_yaml
from waypost.addon.settings import Json, Settings
from waypost.addon.template import Block, Guarded, Insert, Text, put, render
from waypost.observability.alerts_serving import DEPLOYMENT
from waypost.observability.rules import rule_groups

_NOTE: Final = "{{- /* Made by `waypost manifests --chart FOLDER`. */}}\n"
_NAME: Final = '{{ include "waypost.fullname" . }}'
_ACCOUNT: Final = '{{ include "waypost.serviceAccountName" . }}'
_IMAGE: Final = '"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"'
_DNS_PORT: Final = "{{ (index .Values.servers 0).port }}"
_POD: Final = "spec.template.spec"
_CONTAINER: Final = f"{_POD}.containers.0"
_BLOCKS: Final = {
    "metadata.annotations": ".Values.deployment.annotations",
    "spec.strategy.rollingUpdate": ".Values.rollingUpdate",
    "spec.template.metadata.annotations": ".Values.podAnnotations",
    f"{_POD}.imagePullSecrets": ".Values.image.pullSecrets",
    f"{_POD}.securityContext": ".Values.podSecurityContext",
    f"{_POD}.affinity": ".Values.affinity",
    f"{_POD}.topologySpreadConstraints": ".Values.topologySpreadConstraints",
    f"{_POD}.tolerations": ".Values.tolerations",
    f"{_POD}.nodeSelector": ".Values.nodeSelector",
    f"{_CONTAINER}.resources": ".Values.resources",
    f"{_CONTAINER}.securityContext": ".Values.securityContext",
    f"{_CONTAINER}.env": ".Values.env",
}
"""Path in the Deployment to the value that fills it."""
_AUTOSCALED: Final = ".Values.autoscaler.enabled"
_RULES: Final = "files/rules.yaml"
_DASHBOARD: Final = f"files/{monitoring.DASHBOARD_FILE}"


def chart_files(image: str, version: str) -> dict[str, str]:
    """Path to text. The names of the release and its namespace take the place of kubeadm's."""
    values = chart_values(Settings(image))
    settings = Settings(
        _IMAGE, name=_NAME, namespace="{{ .Release.Namespace }}", app="{{ .Values.k8sAppLabelOverride }}"
    )
    templates = {
        "serviceaccount": (".Values.serviceAccount.create", [_service_account(settings)]),
        "rbac": (".Values.rbac.create", _rbac(settings)),
        "configmap": ("", [_config_map(settings)]),
        "deployment": ("", [_deployment(settings)]),
        "service": ("", [_service(settings)]),
        "poddisruptionbudget": (".Values.podDisruptionBudget", [_disruption(settings)]),
        "servicemonitor": (".Values.prometheus.monitor.enabled", [_monitor(settings)]),
        "prometheusrule": (".Values.prometheus.rules.enabled", [_rules(settings)]),
        "dashboard": (".Values.prometheus.dashboard.enabled", [_dashboard(settings)]),
        "autoscaler": (_AUTOSCALED, _autoscaler(settings)),
    }
    files = {f"templates/{name}.yaml": _template(*parts) for name, parts in templates.items()}
    return {
        "Chart.yaml": to_yaml(_about(version)),
        "values.yaml": values_yaml(values),
        "values.schema.json": json.dumps(values_schema(values), indent=2) + "\n",
        "templates/_helpers.tpl": _DEFINITIONS,
        _RULES: to_yaml(rule_groups()),
        _DASHBOARD: monitoring.dashboard_text(),
        **files,
    }


def _about(version: str) -> Json:
    return {
        "apiVersion": "v2",
        "name": "waypost",
        "description": "Cluster DNS for Kubernetes that runs CoreDNS Corefiles unchanged",
        "type": "application",
        "version": version,
        "appVersion": version,
        "kubeVersion": ">=1.25.0-0",
    }


def _template(condition: str, objects: list[Json]) -> str:
    text = "---\n".join(render(_labelled(obj)) for obj in objects)
    return f"{_NOTE}{{{{- if {condition} }}}}\n{text}{{{{- end }}}}\n" if condition else _NOTE + text


def _labelled(obj: Json) -> Json:
    """With Helm's labels behind its own."""
    found = copy.deepcopy(obj)
    labels = found["metadata"].setdefault("labels", {})
    labels["helm"] = Insert('include "waypost.labels" . | fromYaml')
    return found


def _service_account(settings: Settings) -> Json:
    account = server.access(settings)[0]
    put(account, "metadata.name", _ACCOUNT)
    put(account, "metadata.annotations", Block(".Values.serviceAccount.annotations"))
    return account


def _rbac(settings: Settings) -> list[Json]:
    """Pods and ServiceImports only for a kubernetes plugin that reads them."""
    _, role, binding = server.access(settings)
    reads = ("/services", "/namespaces", "/pods", "discovery.k8s.io/endpointslices")
    core, slices = reading_rules(reads)
    core["resources"][2] = Guarded(_says("pods\\\\s+verified"), "pods")
    [imports] = reading_rules(["multicluster.x-k8s.io/serviceimports"])
    role["rules"] = [core, slices, Guarded(_says("multicluster\\\\s"), imports)]
    put(binding, "subjects.0.name", _ACCOUNT)
    return [role, binding]


def _says(pattern: str) -> str:
    """True if the text of a plugin's block matches."""
    return f'regexMatch "{pattern}" (include "waypost.corefile" .)'


def _config_map(settings: Settings) -> Json:
    config = server.config_map(settings)
    config["data"] = {
        "Corefile": Text('include "waypost.corefile" .'),
        "zones": Insert('include "waypost.zoneFiles" . | fromYaml'),
    }
    return config


def _deployment(settings: Settings) -> Json:
    deployment: Json = copy.deepcopy(server.deployment(settings))
    for path, expression in _BLOCKS.items():
        put(deployment, path, Block(expression))
    put(deployment, "spec.replicas", Guarded(f"not {_AUTOSCALED}", "{{ .Values.replicaCount }}"))
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]
    pod["priorityClassName"] = "{{ .Values.priorityClassName | quote }}"
    pod["serviceAccountName"] = _ACCOUNT
    pod["dnsPolicy"] = '{{ ternary "Default" "ClusterFirst" .Values.isClusterService }}'
    pod["terminationGracePeriodSeconds"] = "{{ .Values.terminationGracePeriodSeconds }}"
    pod["containers"].append(Insert(".Values.extraContainers"))
    pod["volumes"][0]["configMap"]["items"].append(Insert('include "waypost.zoneItems" . | fromYamlArray'))
    pod["volumes"].append(Insert(".Values.extraVolumes"))
    container["imagePullPolicy"] = "{{ .Values.image.pullPolicy }}"
    for port in container["ports"][:2]:
        port["containerPort"] = _DNS_PORT
    for probe in ("livenessProbe", "readinessProbe"):
        container[probe] = _probe(container[probe], f".Values.{probe}")
    container["volumeMounts"].append(Insert(".Values.extraVolumeMounts"))
    return deployment


def _probe(probe: Json, value: str) -> Any:
    return Guarded(f"{value}.enabled", {"httpGet": probe["httpGet"], "more": Insert(f'omit {value} "enabled"')})


def _service(settings: Settings) -> Json:
    service = copy.deepcopy(server.service(settings))
    labels = service["metadata"]["labels"]
    for label in [name for name in labels if name != "k8s-app"]:
        labels[label] = Guarded(".Values.isClusterService", labels[label])
    put(service, "metadata.name", '{{ .Values.service.name | default (include "waypost.fullname" .) }}')
    put(service, "metadata.annotations", Block('include "waypost.serviceAnnotations" . | fromYaml'))
    ports = service["spec"].pop("ports")
    selector = service["spec"].pop("selector")
    for port in ports[:2]:
        port["targetPort"] = _DNS_PORT
    service["spec"] = {
        "type": "{{ .Values.serviceType }}",
        "clusterIP": Guarded(".Values.service.clusterIP", "{{ .Values.service.clusterIP | quote }}"),
        "clusterIPs": Block(".Values.service.clusterIPs"),
        "ipFamilyPolicy": Guarded(".Values.service.ipFamilyPolicy", "{{ .Values.service.ipFamilyPolicy }}"),
        "ports": ports,
        "selector": selector,
    }
    return service


def _disruption(settings: Settings) -> Json:
    budget = server.disruption(settings)
    selector = budget["spec"]["selector"]
    budget["spec"] = {"selector": selector, "more": Insert(".Values.podDisruptionBudget")}
    return budget


def _monitor(settings: Settings) -> Json:
    monitor = monitoring.service_monitor(settings, settings.name, settings.app)
    monitor["metadata"]["labels"]["more"] = Insert(".Values.prometheus.monitor.additionalLabels")
    put(monitor, "spec.endpoints.0.interval", "{{ .Values.prometheus.monitor.interval }}")
    return monitor


def _rules(settings: Settings) -> Json:
    """Alerts have `{{` of their own, so they stand in a file, in which only the Deployment's name is replaced."""
    rule = monitoring.prometheus_rule(settings)
    rule["metadata"]["labels"]["more"] = Insert(".Values.prometheus.rules.additionalLabels")
    here = '(printf "namespace=%q, deployment=%q" .Release.Namespace (include "waypost.fullname" .))'
    text = f".Files.Get {json.dumps(_RULES)} | replace {json.dumps(DEPLOYMENT)} {here}"
    rule["spec"] = {"more": Insert(f"{text} | fromYaml")}
    return rule


def _dashboard(settings: Settings) -> Json:
    found = monitoring.dashboard_map(settings)
    found["metadata"]["labels"] = {"more": Insert(".Values.prometheus.dashboard.labels")}
    found["data"] = {monitoring.DASHBOARD_FILE: Text(f".Files.Get {json.dumps(_DASHBOARD)}")}
    return found


def _autoscaler(settings: Settings) -> list[Json]:
    objects = copy.deepcopy(autoscaler.objects(settings))
    *_, config, deployment = objects
    config["data"] = {"linear": Text('include "waypost.autoscalerParams" .')}
    pod = deployment["spec"]["template"]["spec"]
    pod["priorityClassName"] = "{{ .Values.autoscaler.priorityClassName | quote }}"
    for name in ("tolerations", "nodeSelector"):
        pod[name] = Block(f".Values.autoscaler.{name}")
    pod["imagePullSecrets"] = Block(".Values.image.pullSecrets")
    pod["containers"][0]["resources"] = Block(".Values.autoscaler.resources")
    pod["containers"][0]["imagePullPolicy"] = "{{ .Values.image.pullPolicy }}"
    return objects


_DEFINITIONS: Final = """\
{{- /* Made by `waypost manifests --chart FOLDER`. */}}

{{- define "waypost.fullname" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "waypost.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "waypost.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end }}

{{- define "waypost.labels" -}}
app.kubernetes.io/name: waypost
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{- define "waypost.serviceAnnotations" -}}
{{- $metrics := ternary .Values.prometheus.service.annotations dict .Values.prometheus.service.enabled -}}
{{- toYaml (merge dict .Values.service.annotations $metrics) -}}
{{- end }}

{{- /* A server block for each of `servers`. */}}
{{- define "waypost.corefile" -}}
{{- range $number, $server := .Values.servers }}
{{- if $number }}{{ print "\\n\\n" }}{{ end }}
{{- range $place, $zone := $server.zones | default (list dict) }}
{{- if $place }} {{ end }}
{{- $zone.scheme }}{{ $zone.zone | default "." }}:{{ $server.port }}
{{- end }} {
{{- range $server.plugins }}
    {{ .name }}
    {{- if hasKey . "parameters" }} {{ .parameters }}{{ end }}
    {{- with .configBlock }} {
{{ trim . | indent 7 }}
    }
    {{- end }}
{{- end }}
}
{{- end }}
{{- end }}

{{- define "waypost.zoneFiles" -}}
{{- range .Values.zoneFiles }}
{{ .filename | quote }}: {{ .contents | quote }}
{{- end }}
{{- end }}

{{- define "waypost.zoneItems" -}}
{{- range .Values.zoneFiles }}
- {key: {{ .filename | quote }}, path: {{ .filename | quote }}}
{{- end }}
{{- end }}

{{- define "waypost.autoscalerParams" -}}
{{- $params := pick .Values.autoscaler "coresPerReplica" "nodesPerReplica" "preventSinglePointFailure" }}
{{- $_ := set $params "includeUnschedulableNodes" .Values.autoscaler.includeUnschedulableNodes }}
{{- with .Values.autoscaler.min }}{{ $_ := set $params "min" (int .) }}{{ end }}
{{- with .Values.autoscaler.max }}{{ $_ := set $params "max" (int .) }}{{ end }}
{{- toPrettyJson $params }}
{{- end }}
"""
