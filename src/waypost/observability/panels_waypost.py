"""Panels of metrics that only Waypost has."""

from __future__ import annotations

from typing import Final

from waypost.observability.panel import Panel, Query, Row, picked, rate

_NAME: Final = "waypost_kubernetes_{}".format


def _oldest(metric: str) -> tuple[Query, ...]:
    return (Query(f"max by (instance, kind) ({picked(metric)})", "{{instance}} {{kind}}"),)


SERVER: Final = Row("Waypost", (
    Panel("Last sign of life of the API", "s", "An API server that is well sends a bookmark every minute. What grows "
          "is the age of our answers.", _oldest(_NAME("last_event_age_seconds"))),
    Panel("Last full read", "s", "A kind is read in full at the start and when a watch cannot go on.",
          _oldest(_NAME("last_sync_age_seconds"))),
    Panel("Age of the snapshot that is served", "s", "0 once the API server has answered.",
          (Query(picked(_NAME("snapshot_age_seconds")), "{{instance}}"),)),
    Panel("Objects", "short", "That are kept, by kind.",
          (Query(f"max by (kind) ({picked(_NAME('objects'))})", "{{kind}}"),)),
    Panel("Events", "ops", "Changes and bookmarks of watches.",
          (Query(rate("kind", _NAME("events_total")), "{{kind}}"),)),
    Panel("Watches that ended", "ops", "And how they went on: resumed, read anew, or replaced for their silence.",
          (Query(rate("", _NAME("watch_reconnects_total")), "resumed"),
           Query(rate("", _NAME("lists_total")), "read in full"),
           Query(rate("", _NAME("stale_watches_total")), "silent"),
           Query(rate("", _NAME("watch_errors_total")), "errors"))),
    Panel("Comparisons with the API", "short", "Within an hour: finished ones, and objects that a watch had lost.",
          (Query(f"sum(increase({picked(_NAME('audits_total'))}[1h]))", "finished"),
           Query(f"sum(increase({picked(_NAME('mended_objects_total'))}[1h]))", "mended objects"))),
    Panel("Queries without an answer", "ops", "By reason; `kernel` for those that came faster than they were read.",
          (Query(rate("reason", "waypost_dropped_packets_total"), "{{reason}}"),
           Query(rate("", "waypost_udp_receive_drops_total"), "kernel"))),
    Panel("Forwarding loops", "none", "1 while queries of a zone come back.",
          (Query(f"max by (instance, zone) ({picked('waypost_loop_detected')})", "{{instance}} {{zone}}"),)),
))  # fmt: skip

AUTOSCALER: Final = Row("Waypost's autoscaler", (
    Panel("Replicas", "none", "Of each target, and what cores and nodes ask for.",
          (Query("max by (target) (waypost_autoscaler_replicas)", "{{target}}"),
           Query("max by (by) (waypost_autoscaler_wanted_replicas)", "asked for by {{by}}"))),
    Panel("Size of the cluster", "short", "Nodes and allocatable cores, all and schedulable ones.",
          (Query("max by (counted) (waypost_autoscaler_nodes)", "nodes, {{counted}}"),
           Query("max by (counted) (waypost_autoscaler_cores)", "cores, {{counted}}"))),
    Panel("Polls", "ops", "By result.",
          (Query("sum by (result) (rate(waypost_autoscaler_polls_total[$__rate_interval]))", "{{result}}"),)),
    Panel("Changes", "short", "Within an hour.",
          (Query("sum by (target, direction) (increase(waypost_autoscaler_changes_total[1h]))",
                 "{{target}} {{direction}}"),)),
    Panel("Who acts", "none", "1 for the process that holds the lease.",
          (Query("waypost_autoscaler_leader", "{{instance}}"),)),
), folded=True)  # fmt: skip

NODES: Final = Row("Caches on nodes", (
    Panel("Nodes by answer", "none", "Caches that prove to answer, and silent ones, whose nodes ask the replicas.",
          (Query("count(waypost_node_cache_answering == 1)", "answering"),
           Query("count(waypost_node_cache_answering) - (count(waypost_node_cache_answering == 1) or vector(0))",
                 "silent"))),
    Panel("Rounds of questions", "ops", "The watch asks its server all the time.",
          (Query("sum by (result) (rate(waypost_node_cache_rounds_total[$__rate_interval]))", "{{result}}"),)),
    Panel("Withdrawals and starts", "short", "Within an hour: how often rules were taken away, and servers started.",
          (Query("sum(increase(waypost_node_cache_withdrawals_total[1h]))", "withdrawals"),
           Query("sum(increase(waypost_node_cache_server_starts_total[1h]))", "starts"))),
    Panel("Faults of setting up", "ops", "By kind; NodeLocal DNSCache counts them, too.",
          (Query("sum by (errortype) (rate(coredns_nodecache_setup_errors_total[$__rate_interval]))",
                 "{{errortype}}"),)),
), folded=True)  # fmt: skip

ROWS: Final = (SERVER, AUTOSCALER, NODES)
