"""Names and descriptions of metrics, of everything that the pages' Corefiles register."""

from __future__ import annotations

import re

import pytest

from support.examples import examples, make_supervisor
from support.tree import source_files
from waypost.metrics.registry import Family

NAME = re.compile(r"(coredns|waypost)(_[a-z0-9]+)+")
LABEL = re.compile(r"[a-z]+(_[a-z]+)*")
UNITS = ("_seconds", "_bytes")
STARTED = {
    "coredns_dns_https3_responses_total",
    "coredns_dns_https_responses_total",
    "coredns_dns_quic_responses_total",
    "coredns_kubernetes_dns_programming_duration_seconds",
    "coredns_kubernetes_rest_client_rate_limiter_duration_seconds",
    "coredns_kubernetes_rest_client_request_duration_seconds",
    "coredns_kubernetes_rest_client_requests_total",
    "coredns_nodecache_setup_errors_total",
    "coredns_plugin_enabled",
    "waypost_autoscaler_changes_total",
    "waypost_autoscaler_cores",
    "waypost_autoscaler_leader",
    "waypost_autoscaler_nodes",
    "waypost_autoscaler_polls_total",
    "waypost_autoscaler_replicas",
    "waypost_autoscaler_wanted_replicas",
    "waypost_dropped_packets_total",
    "waypost_kubernetes_snapshot_age_seconds",
    "waypost_node_cache_answering",
    "waypost_node_cache_rounds_total",
    "waypost_node_cache_server_starts_total",
    "waypost_node_cache_withdrawals_total",
    "waypost_udp_receive_drops_total",
}
IN_SOURCE = re.compile(r'"((?:coredns|waypost)_[a-z0-9_]+)"')


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> list[Family]:
    """The families of one registry after every example was set up."""
    folder = tmp_path_factory.mktemp("metrics")
    supervisor = make_supervisor(folder / "Corefile")
    for example in examples():
        example.prepare(folder, supervisor)
    return list(supervisor.metrics.families.values())


def test_names(families: list[Family]) -> None:
    assert [family.name for family in families if not NAME.fullmatch(family.name)] == []


def test_only_counters_end_in_total(families: list[Family]) -> None:
    assert [each.name for each in families if (each.kind == "counter") != each.name.endswith("_total")] == []


def test_histograms_end_in_a_unit(families: list[Family]) -> None:
    assert [each.name for each in families if each.kind == "histogram" and not each.name.endswith(UNITS)] == []


def test_every_metric_is_described(families: list[Family]) -> None:
    assert [family.name for family in families if not family.help.strip()] == []


def test_labels(families: list[Family]) -> None:
    labels = {label for family in families for label in family.labels}
    assert [label for label in labels if not LABEL.fullmatch(label) or label in ("le", "quantile")] == []


def test_the_examples_register_every_metric(families: list[Family]) -> None:
    # Alerts and panels name what others register; a test of theirs compares with what a process shows.
    registering = [path for path in source_files() if path.parent.name != "observability"]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in registering)
    known = {family.name for family in families} | STARTED
    assert set(IN_SOURCE.findall(sources)) - known == set(), "only what STARTED names may be registered by a start"
