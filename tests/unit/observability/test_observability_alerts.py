"""Each alert fires on what it is about and on nothing else, judged by promtool."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from support.prometheus import tool
from support.tree import ROOT
from waypost.observability.rules import alerts, rule_groups

ALERTS = {alert.name: alert for alert in alerts()}
TARGET = 'job="dns", instance="a:9153"'
LABELS = {"job": "dns", "instance": "a:9153"}
HERE = {"job": "dns"}
KSM = 'namespace="kube-system", deployment="coredns"'
HOURS = 4
STEADY = f"x{60 * HOURS}"


class Case(NamedTuple):
    """`series` beside those of a server that is well; labels and summary of the alert that fires after `at` minutes.

    `with_` are other alerts that rightly fire, too.
    """

    alert: str
    series: dict[str, str]
    labels: dict[str, str]
    summary: str
    at: int = 60
    with_: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


def metric(name: str, **labels: str) -> str:
    """A series of the target."""
    matchers = [TARGET, *(f'{key}="{value}"' for key, value in labels.items())]
    return f"{name}{{{', '.join(matchers)}}}"


BUILD = metric("coredns_build_info")
UP = metric("up")
NOERROR = metric("coredns_dns_responses_total", rcode="NOERROR")
HEALTHY = {
    BUILD: f"1{STEADY}",
    UP: f"1{STEADY}",
    NOERROR: f"0+6000{STEADY}",
    metric("coredns_dns_responses_total", rcode="NXDOMAIN"): f"0+6000{STEADY}",
    metric("coredns_dns_responses_total", rcode="SERVFAIL"): f"0+6{STEADY}",
    metric("coredns_panics_total"): f"0{STEADY}",
    metric("coredns_reload_failed_total"): f"0{STEADY}",
    metric("coredns_reload_version_info", value="abc"): f"1{STEADY}",
    metric("coredns_health_request_failures_total"): f"0{STEADY}",
    metric("coredns_cache_requests_total"): f"0+6000{STEADY}",
    metric("coredns_cache_hits_total"): f"0+4800{STEADY}",
    metric("coredns_cache_evictions_total"): f"0+60{STEADY}",
    metric("coredns_proxy_healthcheck_failures_total", proxy_name="forward", to="192.0.2.1:53"): f"0{STEADY}",
    metric("coredns_forward_healthcheck_broken_total"): f"0{STEADY}",
    metric("coredns_forward_max_concurrent_rejects_total"): f"0{STEADY}",
    metric("waypost_kubernetes_last_event_age_seconds", server="api", kind="services"): f"40{STEADY}",
    metric("waypost_kubernetes_last_sync_age_seconds", server="api", kind="services"): f"0+60{STEADY}",
    metric("waypost_kubernetes_snapshot_age_seconds"): f"0{STEADY}",
    metric("waypost_kubernetes_mended_objects_total", server="api", kind="services"): f"0{STEADY}",
    metric("waypost_autoscaler_polls_total", result="failed"): f"0{STEADY}",
    metric("waypost_autoscaler_leader"): f"1{STEADY}",
    metric("waypost_loop_detected", zone="."): f"0{STEADY}",
    metric("waypost_node_cache_answering"): f"1{STEADY}",
    metric("coredns_nodecache_setup_errors_total", errortype="nftables"): f"0{STEADY}",
    metric("process_open_fds"): f"100{STEADY}",
    metric("process_max_fds"): f"1000{STEADY}",
    f"kube_deployment_spec_replicas{{{KSM}}}": f"2{STEADY}",
    f"kube_deployment_status_replicas_ready{{{KSM}}}": f"2{STEADY}",
}


def buckets(name: str, slow: str, **labels: str) -> dict[str, str]:
    """A histogram of which every observation lies between 0.5 and `slow` seconds."""
    bounds = (("0.5", f"0{STEADY}"), (slow, f"0+60{STEADY}"), ("+Inf", f"0+60{STEADY}"))
    return {metric(f"{name}_bucket", **labels, le=bound): values for bound, values in bounds}


CASES = (
    Case("ClusterDNSAbsent", {}, {}, "Prometheus sees no DNS server", absent=(BUILD, UP)),
    Case("ClusterDNSTargetDown", {UP: "1x30 0x30", BUILD: "1x30 _x30"}, LABELS, "a:9153 cannot be scraped", at=40),
    Case("ClusterDNSReplicasNotReady", {f"kube_deployment_status_replicas_ready{{{KSM}}}": f"1{STEADY}"},
         {"namespace": "kube-system", "deployment": "coredns"}, "1 DNS replicas are not ready"),
    Case("ClusterDNSNoReplicaReady", {f"kube_deployment_status_replicas_ready{{{KSM}}}": f"0{STEADY}"},
         {"namespace": "kube-system", "deployment": "coredns"}, "No DNS replica is ready",
         with_=("ClusterDNSReplicasNotReady",)),
    Case("ClusterDNSServfail", {metric("coredns_dns_responses_total", rcode="SERVFAIL"): f"0+240{STEADY}"}, HERE,
         "1.961% of all answers are SERVFAIL"),
    Case("ClusterDNSServfailMany", {metric("coredns_dns_responses_total", rcode="SERVFAIL"): f"0+3000{STEADY}"}, HERE,
         "20% of all answers are SERVFAIL", with_=("ClusterDNSServfail",)),
    Case("ClusterDNSSlow", buckets("coredns_dns_request_duration_seconds", "2"), HERE,
         "One answer in a hundred takes longer than 1.985s"),
    Case("ClusterDNSVerySlow", buckets("coredns_dns_request_duration_seconds", "8"), HERE,
         "One answer in a hundred takes longer than 7.925s", with_=("ClusterDNSSlow",)),
    Case("ClusterDNSNxdomainJump",
         {metric("coredns_dns_responses_total", rcode="NXDOMAIN"): "0+6000x120 738000+60000x60"}, HERE,
         "The share of NXDOMAIN has grown by 40.93% of all answers", at=145),
    Case("ClusterDNSPanics", {metric("coredns_panics_total"): "0x50 1x70"}, LABELS, "a:9153 met a fault of its own",
         at=52),
    Case("ClusterDNSReloadFailed", {metric("coredns_reload_failed_total"): "0x50 1x70"}, LABELS,
         "a:9153 does not take the new Corefile"),
    Case("ClusterDNSConfigurationsDiffer", {metric("coredns_reload_version_info", value="old"): f"1{STEADY}"}, HERE,
         "DNS replicas serve 2 different configurations"),
    Case("ClusterDNSSelfCheckFails", {metric("coredns_health_request_failures_total"): f"0+6{STEADY}"}, LABELS,
         "a:9153 cannot reach its own health endpoint"),
    Case("ClusterDNSFewFilesLeft", {metric("process_open_fds"): f"900{STEADY}"}, LABELS,
         "a:9153 has 90% of its files and sockets open"),
    Case("ClusterDNSSheds", {metric("coredns_shed_dropped_total", reason="query"): f"0+600{STEADY}"},
         {**LABELS, "reason": "query"}, "a:9153 sheds query packets"),
    Case("WaypostDropsQueries", {metric("waypost_dropped_packets_total", reason="overload"): f"0+600{STEADY}"},
         {**LABELS, "reason": "overload"}, "a:9153 drops 10 packets a second: overload"),
    Case("WaypostKernelDropsQueries", {metric("waypost_udp_receive_drops_total", server="dns://:53"): f"0+120{STEADY}"},
         LABELS, "The kernel drops 2 queries a second in front of a:9153"),
    Case("WaypostForwardingLoop", {metric("waypost_loop_detected", zone="."): f"1{STEADY}"}, {**LABELS, "zone": "."},
         "a:9153 is its own upstream for ."),
    Case("ClusterDNSUpstreamDown",
         {metric("coredns_proxy_healthcheck_failures_total", proxy_name="forward", to="192.0.2.1:53"): f"0+12{STEADY}"},
         {**HERE, "proxy_name": "forward", "to": "192.0.2.1:53"}, "The upstream 192.0.2.1:53 does not answer probes"),
    Case("ClusterDNSUpstreamsAllDown", {metric("coredns_forward_healthcheck_broken_total"): f"0+6{STEADY}"}, HERE,
         "Queries find every upstream down"),
    Case("ClusterDNSUpstreamSlow",
         buckets("coredns_proxy_request_duration_seconds", "2", proxy_name="forward", to="192.0.2.1:53"),
         {**HERE, "proxy_name": "forward", "to": "192.0.2.1:53"},
         "One reply in a hundred of 192.0.2.1:53 takes longer than 1.985s"),
    Case("ClusterDNSUpstreamErrors",
         {metric("coredns_proxy_request_duration_seconds_count", proxy_name="forward", to="192.0.2.1:53", rcode=rcode):
          f"0+{count}{STEADY}" for rcode, count in (("NOERROR", 80), ("SERVFAIL", 10), ("REFUSED", 10))},
         {**HERE, "proxy_name": "forward", "to": "192.0.2.1:53"},
         "20% of the replies of 192.0.2.1:53 are SERVFAIL or REFUSED"),
    Case("ClusterDNSForwardRejects", {metric("coredns_forward_max_concurrent_rejects_total"): f"0+120{STEADY}"},
         LABELS, "a:9153 refuses 2 queries a second: max_concurrent is reached"),
    Case("ClusterDNSCacheHitRatioFell", {metric("coredns_cache_hits_total"): "0+4800x180 864600+600x60"}, HERE,
         "The share of look-ups that the cache answers has fallen (-70%)", at=215),
    Case("ClusterDNSCacheTooSmall", {metric("coredns_cache_evictions_total"): f"0+1200{STEADY}"}, HERE,
         "The cache gives up an entry for 20% of its look-ups"),
    Case("WaypostApiDataStale",
         {metric("waypost_kubernetes_last_event_age_seconds", server="api", kind="services"): f"0+60{STEADY}"},
         {**LABELS, "server": "api", "kind": "services"}, "a:9153 has heard nothing of services for 1h 0m 0s"),
    Case("WaypostApiNeverRead",
         {metric("waypost_kubernetes_last_sync_age_seconds", server="api", kind="services"): f"-1{STEADY}"},
         {**LABELS, "server": "api", "kind": "services"}, "a:9153 has not read services since its start"),
    Case("WaypostServesSnapshot", {metric("waypost_kubernetes_snapshot_age_seconds"): f"0+60{STEADY}"}, LABELS,
         "a:9153 serves a snapshot that is 1h 0m 0s old"),
    Case("WaypostWatchErrors",
         {metric("waypost_kubernetes_watch_errors_total", server="api", kind="services"): f"0+3{STEADY}"},
         {**LABELS, "server": "api", "kind": "services"}, "a:9153 fails to follow services"),
    Case("WaypostWatchLosesEvents",
         {metric("waypost_kubernetes_mended_objects_total", server="api", kind="services"): "0x30 2x60"},
         {**LABELS, "server": "api", "kind": "services"}, "a:9153 mended 2 objects of kind services"),
    Case("ClusterDNSApiRefuses",
         {metric("coredns_kubernetes_rest_client_requests_total", code="403", host="api"): f"0+2{STEADY}"},
         {**HERE, "code": "403", "host": "api"}, "The API server at api answers 403"),
    Case("ClusterDNSChangesLate",
         buckets("coredns_kubernetes_dns_programming_duration_seconds", "64", service_kind="cluster_ip"),
         {**HERE, "service_kind": "cluster_ip"}, "Changes of endpoints reach DNS 1m 3s late"),
    Case("WaypostAutoscalerFails", {metric("waypost_autoscaler_polls_total", result="failed"): f"0+6{STEADY}"}, HERE,
         "The autoscaler's polls fail"),
    Case("WaypostAutoscalerNobodyActs", {metric("waypost_autoscaler_leader"): f"0{STEADY}"}, HERE,
         "No autoscaler holds the lease"),
    Case("WaypostNodeCacheSilent", {metric("waypost_node_cache_answering"): f"0{STEADY}"}, LABELS,
         "The cache of a:9153 does not answer"),
    Case("ClusterDNSNodeCacheSetupErrors",
         {metric("coredns_nodecache_setup_errors_total", errortype="nftables"): f"0+6{STEADY}"},
         {**LABELS, "errortype": "nftables"}, "The cache of a:9153 cannot set up: nftables"),
)  # fmt: skip


def check(folder: Path, tests: list[dict[str, object]]) -> str:
    """What promtool has to say; nothing if all is as expected."""
    (folder / "rules.yaml").write_text(yaml.safe_dump(rule_groups()), encoding="utf-8")
    script = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}
    (folder / "tests.yaml").write_text(yaml.safe_dump(script), encoding="utf-8")
    command = [tool("promtool"), "test", "rules", "tests.yaml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def series(more: dict[str, str], absent: tuple[str, ...] = ()) -> list[dict[str, str]]:
    """Input for promtool: those of a server that is well, and others in their place."""
    found = {name: values for name, values in (HEALTHY | more).items() if name not in absent}
    return [{"series": name, "values": values} for name, values in found.items()]


def firing(minute: int, *names: str) -> dict[str, object]:
    """Expects that these alerts fire and no others."""
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in names]
    expr = 'count by (alertname) (ALERTS{alertstate="firing"})'
    return {"expr": expr, "eval_time": f"{minute}m", "exp_samples": samples}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.alert)
def test_an_alert_fires(case: Case, tmp_path: Path) -> None:
    alert = ALERTS[case.alert]
    annotations = {"summary": case.summary, "description": alert.meaning, "runbook": alert.page}
    fired = {"exp_labels": {"severity": alert.severity, **case.labels}, "exp_annotations": annotations}
    test = {
        "interval": "1m",
        "input_series": series(case.series, case.absent),
        "alert_rule_test": [{"eval_time": f"{case.at}m", "alertname": case.alert, "exp_alerts": [fired]}],
        "promql_expr_test": [firing(case.at, case.alert, *case.with_), firing(0)],
    }
    assert check(tmp_path, [test]) == ""


def test_none_fires_while_all_is_well(tmp_path: Path) -> None:
    moments = [firing(minute) for minute in (0, 1, 5, 20, 60, 120, 230)]
    assert check(tmp_path, [{"interval": "1m", "input_series": series({}), "promql_expr_test": moments}]) == ""


def test_a_failed_expectation_is_found(tmp_path: Path) -> None:
    moments = [firing(60, "ClusterDNSPanics")]
    test = {"interval": "1m", "input_series": series({}), "promql_expr_test": moments}
    assert "ClusterDNSPanics" in check(tmp_path, [test])


def test_every_alert_has_a_case() -> None:
    assert [case.alert for case in CASES] == [alert.name for alert in alerts()]


def test_names_say_whose_metrics_are_needed() -> None:
    assert {alert.name for alert in alerts() if "waypost_" in alert.expr} == {
        name for name in ALERTS if name.startswith("Waypost")
    }


def test_every_alert_has_a_section_that_says_what_to_do() -> None:
    [page] = {alert.page.partition("#")[0] for alert in alerts()}
    headings = re.findall(r"^### (\S+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(ALERTS)
    assert {alert.page.partition("#")[2] for alert in alerts()} == {heading.lower() for heading in headings}
