"""Alerts about what the server knows of the cluster, and about what runs beside it: autoscaler, caches on nodes."""

from __future__ import annotations

from typing import Final

from waypost.observability.alert import FLEET, REPLICA, Alert, quantile, rate

_KIND: Final = f"{REPLICA}, server, kind"
_REFUSALS: Final = 'coredns_kubernetes_rest_client_requests_total{code=~"401|403"}'
_POLLS: Final = "waypost_autoscaler_polls_total"

CLUSTER: Final = (
    Alert(
        "WaypostApiDataStale", f"max by ({_KIND}) (waypost_kubernetes_last_event_age_seconds)", "> 300", 5, "warning",
        "{{ $labels.instance }} has heard nothing of {{ $labels.kind }} for {{ $value | humanizeDuration }}",
        "It goes on answering with what it knew then: new Services are missing, old endpoints are still there. An API "
        "server that is well says something every minute.",
    ),
    Alert(
        "WaypostApiNeverRead", f"min by ({_KIND}) (waypost_kubernetes_last_sync_age_seconds)", "< 0", 5, "critical",
        "{{ $labels.instance }} has not read {{ $labels.kind }} since its start",
        "Names of the cluster are answered SERVFAIL, or from a snapshot.",
    ),
    Alert(
        "WaypostServesSnapshot", f"max by ({REPLICA}) (waypost_kubernetes_snapshot_age_seconds)", "> 0", 5, "warning",
        "{{ $labels.instance }} serves a snapshot that is {{ $value | humanizeDuration }} old",
        "The API server has not answered since the start; answers are as old as the file.",
    ),
    Alert(
        "WaypostWatchErrors", rate(_KIND, "waypost_kubernetes_watch_errors_total", "10m"), "> 0.01", 15, "warning",
        "{{ $labels.instance }} fails to follow {{ $labels.kind }}",
        "Lists or watches fail again and again; what is known goes stale.",
    ),
    Alert(
        "WaypostWatchLosesEvents", "increase(waypost_kubernetes_mended_objects_total[1h])", "> 0", 0, "info",
        "{{ $labels.instance }} mended {{ $value | printf `%.0f` }} objects of kind {{ $labels.kind }}",
        "A watch had skipped changes, so answers were wrong until the next comparison (five minutes).",
    ),
    Alert(
        "ClusterDNSApiRefuses", rate(f"{FLEET}, code, host", _REFUSALS, "10m"), "> 0", 10, "critical",
        "The API server at {{ $labels.host }} answers {{ $labels.code }}",
        "The server lacks rights or a valid token: it learns nothing new, and a restarted one knows nothing.",
    ),
    Alert(
        "ClusterDNSChangesLate",
        quantile(0.99, f"{FLEET}, service_kind", "coredns_kubernetes_dns_programming_duration_seconds", "15m"),
        "> 30", 15, "warning",
        "Changes of endpoints reach DNS {{ $value | humanizeDuration }} late",
        "Clients are sent to pods that are gone. The way from the pod to the API server is part of this time.",
    ),
)  # fmt: skip

AUTOSCALER: Final = (
    Alert(
        "WaypostAutoscalerFails", rate(FLEET, f'{_POLLS}{{result="failed"}}', "10m"), "> 0", 15, "warning",
        "The autoscaler's polls fail",
        "The number of DNS replicas stays as it is, whatever becomes of the cluster.",
    ),
    Alert(
        "WaypostAutoscalerNobodyActs", f"max by ({FLEET}) (waypost_autoscaler_leader)", "== 0", 10, "warning",
        "No autoscaler holds the lease",
        "The number of DNS replicas stays as it is, whatever becomes of the cluster.",
    ),
)  # fmt: skip

NODES: Final = (
    Alert(
        "WaypostNodeCacheSilent", f"min by ({REPLICA}) (waypost_node_cache_answering)", "== 0", 5, "warning",
        "The cache of {{ $labels.instance }} does not answer",
        "Pods of that node ask the replicas instead; where kubelets name the cache's own address, their look-ups fail.",
    ),
    Alert(
        "ClusterDNSNodeCacheSetupErrors",
        rate(f"{REPLICA}, errortype", "coredns_nodecache_setup_errors_total", "10m"), "> 0", 15, "warning",
        "The cache of {{ $labels.instance }} cannot set up: {{ $labels.errortype }}",
        "Its interface, rules or configuration are not what they should be; it may answer nobody.",
    ),
)  # fmt: skip
