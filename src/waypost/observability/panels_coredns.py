"""Panels that work for Waypost and for CoreDNS alike: their metrics have the same names."""

from __future__ import annotations

from typing import Final

from waypost.observability.panel import Panel, Query, Row, picked, quantile, rate, share

_RESPONSES: Final = "coredns_dns_responses_total"
_REQUESTS: Final = "coredns_dns_requests_total"
_DURATION: Final = "coredns_dns_request_duration_seconds"
_PROXY: Final = "coredns_proxy_request_duration_seconds"
_HIT_RATIO: Final = share(rate("", "coredns_cache_hits_total"), rate("", "coredns_cache_requests_total"))


def _quantiles(histogram: str) -> tuple[Query, ...]:
    named = ((0.5, "median"), (0.9, "90 %"), (0.99, "99 %"))
    return tuple(Query(quantile(part, "", histogram), legend) for part, legend in named)


def _rcode_share(rcode: str) -> str:
    return share(rate("", _RESPONSES, f'rcode="{rcode}"'), rate("", _RESPONSES))


OVERVIEW: Final = Row("At a glance", (
    Panel("Replicas", "none", "Servers that Prometheus sees.", (Query(f"count({picked('coredns_build_info')})", ""),),
          stat=True),
    Panel("Queries", "reqps", "Queries a second.", (Query(rate("", _REQUESTS), ""),), stat=True),
    Panel("SERVFAIL", "percentunit", "Share of all answers.", (Query(_rcode_share("SERVFAIL"), ""),), stat=True,
          limits=(0.01, 0.1)),
    Panel("Slowest 1 %", "s", "One answer in a hundred takes longer.", (Query(quantile(0.99, "", _DURATION), ""),),
          stat=True, limits=(1, 4)),
    Panel("Cache hits", "percentunit", "Look-ups that the cache answers.", (Query(_HIT_RATIO, ""),), stat=True),
    Panel("Configurations", "none", "Different Corefiles that are being served, once there was a reload. More than one "
          "for longer than a reload takes is a fault.",
          (Query(f"count(count by (value) ({picked('coredns_reload_version_info')}))", ""),), stat=True,
          limits=(2, 3)),
))  # fmt: skip

TRAFFIC: Final = Row("Queries and answers", (
    Panel("Queries by type", "reqps", "AAAA as often as A is what resolvers do; much PTR, SRV or TXT is somebody's "
          "habit.", (Query(rate("type", _REQUESTS), "{{type}}"),), stacked=True),
    Panel("Queries by replica", "reqps", "Uneven load: few clients with sockets of their own, or a node's cache.",
          (Query(rate("instance", _REQUESTS), "{{instance}}"),)),
    Panel("Queries by transport", "reqps", "TCP is for large answers and for caches on nodes.",
          (Query(rate("proto", _REQUESTS), "{{proto}}"),), stacked=True),
    Panel("Answers by response code", "reqps", "NXDOMAIN of two thirds is usual with search lists and ndots:5.",
          (Query(rate("rcode", _RESPONSES), "{{rcode}}"),), stacked=True),
    Panel("SERVFAIL and NXDOMAIN", "percentunit", "Shares of all answers.",
          tuple(Query(_rcode_share(rcode), rcode) for rcode in ("SERVFAIL", "NXDOMAIN", "REFUSED"))),
    Panel("Time to answer", "s", "Of all zones, forwarded queries too.", _quantiles(_DURATION)),
    Panel("Time to answer by zone, 99 %", "s", "Zones with blocks of their own.",
          (Query(quantile(0.99, "server, zone", _DURATION), "{{server}} {{zone}}"),)),
    Panel("Size of answers", "bytes", "Above 512 bytes (1232 with EDNS) clients ask again over TCP.",
          _quantiles("coredns_dns_response_size_bytes")),
    Panel("Size of queries", "bytes", "Queries above 100 bytes are long names or padded.",
          _quantiles("coredns_dns_request_size_bytes")),
))  # fmt: skip

CACHE: Final = Row("Cache", (
    Panel("Hit ratio", "percentunit", "By replica.",
          (Query(f"{rate('instance', 'coredns_cache_hits_total')} / {rate('instance', 'coredns_cache_requests_total')}",
                 "{{instance}}"),)),
    Panel("Look-ups", "ops", "Hits by kind of answer, and misses.",
          (Query(rate("type", "coredns_cache_hits_total"), "hit, {{type}}"),
           Query(rate("", "coredns_cache_misses_total"), "miss")), stacked=True),
    Panel("Entries", "short", "Beyond the capacity (9984 of each kind by default) entries make room.",
          (Query(f"sum by (instance, type) ({picked('coredns_cache_entries')})", "{{instance}} {{type}}"),)),
    Panel("Evictions and replies not kept", "ops", "Evictions mean that the cache is too small. Replies to another "
          "question are forgeries, or an upstream's fault.",
          (Query(rate("type", "coredns_cache_evictions_total"), "evicted, {{type}}"),
           Query(rate("", "coredns_cache_drops_total"), "another question"))),
    Panel("Prefetches and stale answers", "ops", "Stale answers are served while the source is away.",
          (Query(rate("", "coredns_cache_prefetch_total"), "prefetched"),
           Query(rate("", "coredns_cache_served_stale_total"), "stale"))),
))  # fmt: skip

UPSTREAMS: Final = Row("Upstreams", (
    Panel("Replies by upstream", "reqps", "Replies of any code.", (Query(rate("to", f"{_PROXY}_count"), "{{to}}"),),
          stacked=True),
    Panel("Replies by response code", "reqps", "As the upstreams sent them.",
          (Query(rate("rcode", f"{_PROXY}_count"), "{{rcode}}"),), stacked=True),
    Panel("Time to reply, 99 %", "s", "By upstream.", (Query(quantile(0.99, "to", _PROXY), "{{to}}"),)),
    Panel("Failed probes", "ops", "An upstream is probed after a failure, until it replies.",
          (Query(rate("to", "coredns_proxy_healthcheck_failures_total"), "{{to}}"),)),
    Panel("Queries without an upstream", "ops", "All were down, or max_concurrent was reached.",
          (Query(rate("", "coredns_forward_healthcheck_broken_total"), "all down"),
           Query(rate("", "coredns_forward_max_concurrent_rejects_total"), "max_concurrent"))),
    Panel("Open connections found", "percentunit", "Queries that needed no new socket or connection.",
          (Query(f"{rate('to, proto', 'coredns_proxy_conn_cache_hits_total')} / "
                 f"({rate('to, proto', 'coredns_proxy_conn_cache_hits_total')} + "
                 f"{rate('to, proto', 'coredns_proxy_conn_cache_misses_total')})", "{{to}} {{proto}}"),)),
))  # fmt: skip

API: Final = Row("Kubernetes API", (
    Panel("Changes reach DNS after, 99 %", "s", "From the cause of a change of endpoints to the answer.",
          (Query(quantile(0.99, "service_kind", "coredns_kubernetes_dns_programming_duration_seconds"),
                 "{{service_kind}}"),)),
    Panel("Requests by code", "ops", "401 and 403 are missing rights, 429 is an API server that defends itself.",
          (Query(rate("code", "coredns_kubernetes_rest_client_requests_total"), "{{code}}"),)),
    Panel("Time of requests, 99 %", "s", "Until the response begins.",
          (Query(quantile(0.99, "verb", "coredns_kubernetes_rest_client_request_duration_seconds"), "{{verb}}"),)),
))  # fmt: skip

PROCESS: Final = Row("Process", (
    Panel("CPU", "none", "Cores in use; a server of one process uses one at most.",
          (Query(rate("instance", "process_cpu_seconds_total"), "{{instance}}"),)),
    Panel("Memory", "bytes", "Resident.", (Query(picked("process_resident_memory_bytes"), "{{instance}}"),)),
    Panel("Open files and sockets", "short", "Connections of clients and to upstreams.",
          (Query(picked("process_open_fds"), "{{instance}}"),)),
    Panel("Own health request, 99 %", "s", "Each second the server asks its own health endpoint: how long that waits "
          "is how busy it is.",
          (Query(quantile(0.99, "instance", "coredns_health_request_duration_seconds"), "{{instance}}"),)),
    Panel("Faults", "short", "Within ten minutes.",
          (Query(f"sum(increase({picked('coredns_panics_total')}[10m]))", "panics"),
           Query(f"sum(increase({picked('coredns_reload_failed_total')}[10m]))", "failed reloads"),
           Query(f"sum(increase({picked('coredns_health_request_failures_total')}[10m]))", "failed health requests"))),
    Panel("Versions", "none", "Replicas of each.",
          (Query(f"count by (version, goversion) ({picked('coredns_build_info')})", "{{version}} ({{goversion}})"),)),
))  # fmt: skip

ROWS: Final = (OVERVIEW, TRAFFIC, CACHE, UPSTREAMS, API, PROCESS)
