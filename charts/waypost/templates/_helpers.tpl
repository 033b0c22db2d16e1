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
{{- if $number }}{{ print "\n\n" }}{{ end }}
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
