"""Alerts about what answers names outside the cluster: upstreams, and the cache in front of them."""

from __future__ import annotations

from typing import Final

from waypost.observability.alert import FLEET, REPLICA, Alert, quantile, rate

_TO: Final = f"{FLEET}, proxy_name, to"
_REPLIES: Final = "coredns_proxy_request_duration_seconds_count"
_BAD_REPLIES: Final = _REPLIES + '{rcode=~"SERVFAIL|REFUSED"}'
_HITS: Final = "coredns_cache_hits_total"
_LOOKUPS: Final = "coredns_cache_requests_total"
_EVICTIONS: Final = "coredns_cache_evictions_total"

UPSTREAMS: Final = (
    Alert(
        "ClusterDNSUpstreamDown", rate(_TO, "coredns_proxy_healthcheck_failures_total"), "> 0.05", 5, "warning",
        "The upstream {{ $labels.to }} does not answer probes",
        "The others take its queries; each replica judges for itself.",
    ),
    Alert(
        "ClusterDNSUpstreamsAllDown", rate(FLEET, "coredns_forward_healthcheck_broken_total"), "> 0", 2, "critical",
        "Queries find every upstream down",
        "Names outside the cluster do not resolve, but for those in the cache.",
    ),
    Alert(
        "ClusterDNSUpstreamSlow",
        quantile(0.99, _TO, "coredns_proxy_request_duration_seconds"), "> 1", 10, "warning",
        "One reply in a hundred of {{ $labels.to }} takes longer than {{ $value | humanizeDuration }}",
        "Names outside the cluster resolve late; after two seconds another upstream is asked.",
    ),
    Alert(
        "ClusterDNSUpstreamErrors", f"{rate(_TO, _BAD_REPLIES)}\n/ {rate(_TO, _REPLIES)}", "> 0.05", 10, "warning",
        "{{ $value | humanizePercentage }} of the replies of {{ $labels.to }} are SERVFAIL or REFUSED",
        "Clients get these replies as they are, unless failover is set.",
    ),
    Alert(
        "ClusterDNSForwardRejects",
        rate(REPLICA, "coredns_forward_max_concurrent_rejects_total"), "> 0", 5, "warning",
        "{{ $labels.instance }} refuses {{ $value | humanize }} queries a second: max_concurrent is reached",
        "So many queries wait for upstreams that new ones are REFUSED at once.",
    ),
)  # fmt: skip

CACHE: Final = (
    Alert(
        "ClusterDNSCacheHitRatioFell",
        f"{rate(FLEET, _HITS, '15m')}\n/ {rate(FLEET, _LOOKUPS, '15m')}\n"
        f"- {rate(FLEET, _HITS, '1h', '1h')}\n/ {rate(FLEET, _LOOKUPS, '1h', '1h')}", "< -0.3", 15, "info",
        "The share of look-ups that the cache answers has fallen ({{ $value | humanizePercentage }})",
        "Upstreams get more queries: the cache was flushed or its TTLs are low, or somebody asks for ever new names.",
        only_if=f"{rate(FLEET, _LOOKUPS, '15m')} > 10",
    ),
    Alert(
        "ClusterDNSCacheTooSmall", f"{rate(FLEET, _EVICTIONS)}\n/ {rate(FLEET, _LOOKUPS)}", "> 0.1", 30, "info",
        "The cache gives up an entry for {{ $value | humanizePercentage }} of its look-ups",
        "Entries make room for others before they end.",
    ),
)  # fmt: skip
