"""The checks: their codes, what each looks at, and running them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, TypeAlias

from waypost.diagnosis import (
    autoscaler,
    availability,
    clients,
    clusterdns,
    configuration,
    conntrack,
    coverage,
    events,
    node,
    nodelocal,
    paths,
    pods,
    rights,
    service,
    versions,
)
from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Finding, Outcome, Unknown, Verdict
from waypost.diagnosis.objects import (
    KINDS,
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    Event,
    Namespace,
    NetworkPolicy,
    Node,
    Object,
    PodDisruptionBudget,
)
from waypost.diagnosis.workloads import DaemonSet, Deployment, Pod
from waypost.manifests.model import EndpointSlice, Service

Judge: TypeAlias = Callable[[Facts], Iterator[Outcome]]
Kinds: TypeAlias = frozenset[type[Object]]


class Source(Enum):
    """Facts that are no objects of the API."""

    NODE = auto()
    CONFIGURATION = auto()
    LOGS = auto()
    UPSTREAMS = auto()
    SERVICE_ANSWERS = auto()
    VERSION = auto()


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its stable code, what it is about in a few words, and what it needs."""

    code: str
    title: str
    judge: Judge
    kinds: Kinds = frozenset()
    sources: frozenset[Source] = field(default_factory=frozenset)


def _check(code: str, title: str, judge: Judge, *needs: type[Object] | Source) -> Check:
    kinds = frozenset(need for need in needs if not isinstance(need, Source))
    return Check(code, title, judge, kinds, frozenset(need for need in needs if isinstance(need, Source)))


_DNS_PODS: Final = (Service, Pod)
_COREFILE: Final = (Service, Pod, Deployment, ConfigMap, Source.CONFIGURATION)
_KUBELETS: Final = (ConfigMap, Source.NODE)
_PATHS: Final = (Service, Pod, Namespace, NetworkPolicy)

CHECKS: Final = (
    _check("D100", "objects readable", coverage.judge, *KINDS.values()),
    _check("D101", "DNS Service", service.judge_service, Service),
    _check("D102", "Service ports", service.judge_ports, *_DNS_PODS),
    _check("D103", "Service selector", service.judge_selector, *_DNS_PODS, Deployment),
    _check("D104", "endpoints", service.judge_endpoints, Service, EndpointSlice),
    _check("D105", "answers", service.judge_answers, Service, Source.SERVICE_ANSWERS),
    _check("D106", "spread over nodes", availability.judge_spread, Service, EndpointSlice),
    _check("D107", "replicas", availability.judge_replicas, Service, Deployment),
    _check("D108", "disruption budget", availability.judge_disruption_budget, Service, Deployment, PodDisruptionBudget),
    _check("D109", "kubelets' cluster DNS", clusterdns.judge, *_COREFILE, DaemonSet, *_KUBELETS),
    _check("D201", "DNS pods", pods.judge_running, *_DNS_PODS),
    _check("D202", "forwarding loop", pods.judge_loop, *_DNS_PODS, Source.LOGS),
    _check("D203", "restarts", pods.judge_restarts, *_DNS_PODS, Source.LOGS),
    _check("D204", "DNS pods' resolver", pods.judge_policy, *_COREFILE),
    _check("D205", "rights", rights.judge, *_COREFILE, ClusterRole, ClusterRoleBinding),
    _check("D206", "versions", versions.judge, *_DNS_PODS, Node, Source.VERSION),
    _check("D207", "autoscaler", autoscaler.judge, ConfigMap, Deployment),
    _check("D208", "node-local DNS", nodelocal.judge, Service, DaemonSet, *_KUBELETS),
    _check("D301", "Corefile", configuration.judge_corefile, *_COREFILE),
    _check("D302", "advice on the Corefile", configuration.judge_advice, *_COREFILE),
    _check("D303", "configuration in use", configuration.judge_freshness, *_COREFILE, Source.LOGS),
    _check("D304", "upstreams", configuration.judge_upstreams, *_COREFILE, Source.NODE, Source.UPSTREAMS),
    _check("D401", "node's resolv.conf", node.judge_file, Source.NODE),
    _check("D402", "loopback resolver", node.judge_loopback, *_COREFILE, Source.NODE),
    _check("D403", "number of resolvers", node.judge_nameservers, Source.NODE),
    _check("D404", "node's search list", node.judge_search, Source.NODE),
    _check("D405", "node's resolver options", node.judge_options, Source.NODE),
    _check("D406", "conntrack races", conntrack.judge_insert_failed, Source.NODE),
    _check("D407", "conntrack table", conntrack.judge_table, Source.NODE),
    _check("D501", "policies of clients", paths.judge_egress, *_PATHS, DaemonSet),
    _check("D502", "policies of DNS pods", paths.judge_ingress, *_PATHS),
    _check("D503", "limits of pods' resolv.conf", clients.judge_limits, *_DNS_PODS, *_KUBELETS),
    _check("D504", "pods' DNS settings", clients.judge_pitfalls, *_DNS_PODS),
    _check("D505", "kubelets' events", events.judge, Event),
)
"""In the order in which findings are told."""


def diagnose(facts: Facts, checks: Iterable[Check] = CHECKS) -> Iterator[Finding]:
    """The findings of each check, at least one. Raises nothing: a check that cannot go on says why."""
    for check in checks:
        try:
            for outcome in check.judge(facts):
                yield Finding(check.code, check.title, *outcome)
        except Unknown as reason:
            yield Finding(check.code, check.title, Verdict.UNKNOWN, str(reason))
