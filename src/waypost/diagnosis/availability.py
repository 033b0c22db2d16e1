"""Whether DNS outlives the loss of a pod, of a node, and a drain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waypost.diagnosis.endpoints import dns_slices, ready_endpoints
from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Outcome, Unknown, counted, failure, ok, unknown, warning
from waypost.diagnosis.objects import PodDisruptionBudget
from waypost.diagnosis.selectors import selects
from waypost.diagnosis.workloads import Deployment


def judge_spread(facts: Facts) -> Iterator[Outcome]:
    """Not all on one node."""
    cluster = facts.objects()
    ready = ready_endpoints(dns_slices(cluster))
    if not ready:
        raise Unknown("the DNS Service has no ready endpoint")
    nodes = {endpoint.node_name for endpoint in ready}
    text = f"endpoints[].nodeName: {', '.join(sorted(nodes - {''})) or '(none)'}"
    if "" in nodes:
        yield unknown("some endpoints do not say on which node they are", text)
    elif len(nodes) == 1 and len(ready) > 1:
        yield warning(
            f"all {len(ready)} DNS endpoints are on one node",
            text,
            remedy="add topologySpreadConstraints or a podAntiAffinity on kubernetes.io/hostname, then delete one pod",
        )
    else:
        yield ok(f"{counted(len(ready), 'DNS endpoint')} on {counted(len(nodes), 'node')}", text)


def judge_replicas(facts: Facts) -> Iterator[Outcome]:
    """At least two."""
    cluster = facts.objects()
    owners = cluster.dns_deployments()
    if not owners:
        raise Unknown(f"no Deployment in {cluster.namespace} makes the DNS pods")
    for each in owners:
        place = f"Deployment {each.metadata.namespace}/{each.metadata.name}.spec.replicas: {each.spec.replicas}"
        if each.spec.replicas > 1:
            yield ok(f"{each.spec.replicas} replicas", place)
            continue
        tell = warning if each.spec.replicas else failure
        yield tell(
            "one replica: DNS is away whenever its pod or node is" if each.spec.replicas else "no replica",
            place,
            remedy="set replicas to 2 or more, or let an autoscaler with preventSinglePointFailure do it",
        )


def judge_disruption_budget(facts: Facts) -> Iterator[Outcome]:
    """A drain must not take all DNS pods at once, and must be able to take one."""
    cluster = facts.objects()
    budgets = cluster.here(PodDisruptionBudget)
    owners = cluster.dns_deployments()
    if not owners:
        raise Unknown(f"no Deployment in {cluster.namespace} makes the DNS pods")
    for owner in owners:
        covering = _covering(budgets, owner)
        name = f"Deployment {owner.metadata.namespace}/{owner.metadata.name}"
        if not covering:
            yield warning(
                "no PodDisruptionBudget covers the DNS pods: draining nodes may stop all of them at once",
                f"{name}.spec.template.metadata.labels: selected by no PodDisruptionBudget in {cluster.namespace}",
                remedy="add a PodDisruptionBudget with maxUnavailable: 1 and the selector of the Deployment",
            )
        for budget in covering:
            yield _budget(budget, owner)


def _budget(budget: PodDisruptionBudget, owner: Deployment) -> Outcome:
    spec, place = budget.spec, f"PodDisruptionBudget {budget.metadata.namespace}/{budget.metadata.name}.spec"
    all_needed = isinstance(spec.min_available, int) and spec.min_available >= owner.spec.replicas
    if all_needed or spec.min_available == "100%" or spec.max_unavailable in (0, "0%"):
        field = f"maxUnavailable: {spec.max_unavailable}"
        if spec.max_unavailable is None:
            field = f"minAvailable: {spec.min_available} of {owner.spec.replicas} replicas"
        return warning(
            "the PodDisruptionBudget lets no DNS pod go: nodes cannot be drained",
            f"{place}.{field}",
            remedy="use maxUnavailable: 1",
        )
    return ok("a PodDisruptionBudget covers the DNS pods", place)


def _covering(budgets: Sequence[PodDisruptionBudget], owner: Deployment) -> list[PodDisruptionBudget]:
    labels = owner.spec.template.metadata.labels
    return [each for each in budgets if each.spec.selector is not None and selects(each.spec.selector, labels)]
