"""Alerts about the server itself: whether it is there, what it answers, how fast, with which configuration."""

from __future__ import annotations

from typing import Final

from waypost.observability.alert import FLEET, REPLICA, Alert, quantile, rate

_RESPONSES: Final = "coredns_dns_responses_total"
_NXDOMAIN: Final = _RESPONSES + '{rcode="NXDOMAIN"}'
_SERVFAIL: Final = _RESPONSES + '{rcode="SERVFAIL"}'
_SERVFAIL_SHARE: Final = f"{rate(FLEET, _SERVFAIL)}\n/ {rate(FLEET, _RESPONSES)}"
_SLOWEST: Final = quantile(0.99, FLEET, "coredns_dns_request_duration_seconds")
DEPLOYMENT: Final = 'namespace="kube-system", deployment="coredns"'
"""Which one kube-state-metrics is asked about."""
_READY: Final = f"kube_deployment_status_replicas_ready{{{DEPLOYMENT}}}"

THERE: Final = (
    Alert(
        "ClusterDNSAbsent", "absent(coredns_build_info)", "== 1", 10, "critical",
        "Prometheus sees no DNS server",
        "No target shows coredns_build_info: either there is no DNS server, or nothing of it is measured.",
    ),
    Alert(
        "ClusterDNSTargetDown", "up", "== 0", 5, "warning",
        "{{ $labels.instance }} cannot be scraped",
        "A DNS server that was measured within the last hour does not answer Prometheus: it hangs, or is cut off.",
        only_if="on (job, instance) max_over_time(coredns_build_info[1h])",
    ),
    Alert(
        "ClusterDNSReplicasNotReady",
        f"kube_deployment_spec_replicas{{{DEPLOYMENT}}}\n- {_READY}", "> 0", 15, "warning",
        "{{ $value }} DNS replicas are not ready",
        "The others take their queries, as long as they can.",
    ),
    Alert(
        "ClusterDNSNoReplicaReady", _READY, "== 0", 1, "critical",
        "No DNS replica is ready",
        "Nothing in the cluster resolves, but for caches on nodes.",
    ),
)  # fmt: skip

ANSWERS: Final = (
    Alert(
        "ClusterDNSServfail", _SERVFAIL_SHARE, "> 0.01", 10, "warning",
        "{{ $value | humanizePercentage }} of all answers are SERVFAIL",
        "Programs see failed look-ups, and ask again after it.",
    ),
    Alert(
        "ClusterDNSServfailMany", _SERVFAIL_SHARE, "> 0.1", 5, "critical",
        "{{ $value | humanizePercentage }} of all answers are SERVFAIL",
        "Look-ups fail all over the cluster: upstreams are away, or the server knows nothing of the cluster.",
    ),
    Alert(
        "ClusterDNSSlow", _SLOWEST, "> 1", 10, "warning",
        "One answer in a hundred takes longer than {{ $value | humanizeDuration }}",
        "Resolvers wait five seconds at most. Answers about the cluster take less than a millisecond: it is upstreams "
        "that are slow, or the server has too little CPU.",
    ),
    Alert(
        "ClusterDNSVerySlow", _SLOWEST, "> 4", 5, "critical",
        "One answer in a hundred takes longer than {{ $value | humanizeDuration }}",
        "Resolvers give up after five seconds and ask again, which makes it worse.",
    ),
    Alert(
        "ClusterDNSNxdomainJump",
        f"{rate(FLEET, _NXDOMAIN, '10m')}\n/ {rate(FLEET, _RESPONSES, '10m')}\n"
        f"- {rate(FLEET, _NXDOMAIN, '1h', '30m')}\n/ {rate(FLEET, _RESPONSES, '1h', '30m')}", "> 0.25", 10, "warning",
        "The share of NXDOMAIN has grown by {{ $value | humanizePercentage }} of all answers",
        "Names that were there are not any more, or a workload asks for names that never were: a typing error, a "
        "search list, a Service that was deleted.",
        only_if=f"{rate(FLEET, _NXDOMAIN, '10m')} > 10",
    ),
    Alert(
        "ClusterDNSPanics", "increase(coredns_panics_total[10m])", "> 0", 0, "warning",
        "{{ $labels.instance }} met a fault of its own",
        "Queries of one kind were answered SERVFAIL by a fault in the program; the log has its place.",
    ),
)  # fmt: skip

LIFE: Final = (
    Alert(
        "ClusterDNSReloadFailed", "increase(coredns_reload_failed_total[1h])", "> 0", 0, "warning",
        "{{ $labels.instance }} does not take the new Corefile",
        "The configuration before it goes on serving, and a restart would fail.",
    ),
    Alert(
        "ClusterDNSConfigurationsDiffer",
        f"count by ({FLEET}) (count by ({FLEET}, value) (coredns_reload_version_info))", "> 1", 15, "warning",
        "DNS replicas serve {{ $value }} different configurations",
        "The same question has different answers, depending on who gets it.",
    ),
    Alert(
        "ClusterDNSSelfCheckFails", rate(REPLICA, "coredns_health_request_failures_total"), "> 0", 5, "warning",
        "{{ $labels.instance }} cannot reach its own health endpoint",
        "The process is overloaded or stands still; the kubelet will restart it.",
    ),
    Alert(
        "ClusterDNSFewFilesLeft", "process_open_fds / process_max_fds", "> 0.8", 10, "warning",
        "{{ $labels.instance }} has {{ $value | humanizePercentage }} of its files and sockets open",
        "Without free ones it takes no connections and asks no upstream.",
        only_if="on (job, instance) coredns_build_info",
    ),
    Alert(
        "ClusterDNSSheds", rate(f"{REPLICA}, reason", "coredns_shed_dropped_total"), "> 0", 5, "warning",
        "{{ $labels.instance }} sheds {{ $labels.reason }} packets",
        "More is answered than the socket takes; such clients wait for their timeout.",
    ),
    Alert(
        "WaypostDropsQueries", rate(f"{REPLICA}, reason", "waypost_dropped_packets_total"), "> 0.1", 10, "warning",
        "{{ $labels.instance }} drops {{ $value | humanize }} packets a second: {{ $labels.reason }}",
        "Such clients get no answer and wait for their timeout.",
    ),
    Alert(
        "WaypostKernelDropsQueries", rate(REPLICA, "waypost_udp_receive_drops_total"), "> 0.1", 10, "warning",
        "The kernel drops {{ $value | humanize }} queries a second in front of {{ $labels.instance }}",
        "Queries come faster than they are read, so that the receive buffer is full. Such clients wait "
        "for their timeout.",
    ),
    Alert(
        "WaypostForwardingLoop", "waypost_loop_detected", "== 1", 1, "critical",
        "{{ $labels.instance }} is its own upstream for {{ $labels.zone }}",
        "What would be forwarded is answered SERVFAIL until queries stop coming back.",
    ),
)  # fmt: skip
