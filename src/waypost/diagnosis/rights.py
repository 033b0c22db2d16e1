"""What the DNS pods' service account may read (RBAC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from waypost.diagnosis.facts import Configuration, Facts
from waypost.diagnosis.finding import Gap, Maybe, Outcome, Unknown, failure, ok
from waypost.diagnosis.objects import ClusterRole, ClusterRoleBinding, PolicyRule, Subject

_VERBS: Final = ("list", "watch")
_ANY: Final = "*"
_DEFAULT_ACCOUNT: Final = "default"


class Resource(NamedTuple):
    """A resource of an API group."""

    group: str
    name: str

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


_NEEDED: Final = (Resource("discovery.k8s.io", "endpointslices"), Resource("", "services"), Resource("", "namespaces"))


def judge(facts: Facts) -> Iterator[Outcome]:
    """The kubernetes plugin lists and watches endpointslices, services and namespaces."""
    cluster = facts.objects()
    if _reads_no_cluster(facts.configuration):
        yield ok("the Corefile has no kubernetes plugin: no rights are needed")
        return
    roles = {role.metadata.name: role for role in cluster.all(ClusterRole)}
    bindings = cluster.all(ClusterRoleBinding)
    accounts = sorted({pod.spec.service_account_name or _DEFAULT_ACCOUNT for pod in cluster.dns_pods()})
    if not accounts:
        raise Unknown("there are no DNS pods, whose service account would tell")
    for account in accounts:
        bound = [binding for binding in bindings if _binds(binding, cluster.namespace, account)]
        rules = [rule for each in bound if each.role_ref.name in roles for rule in roles[each.role_ref.name].rules]
        missing = [f"{verb} {resource}" for resource in _NEEDED for verb in _VERBS if not may(rules, verb, resource)]
        name = f"ServiceAccount {cluster.namespace}/{account}"
        held = ", ".join(f"ClusterRole {each.role_ref.name}" for each in bound) or "no ClusterRoleBinding"
        if missing:
            yield failure(
                f"{name} may not {', '.join(missing)}: Services do not resolve, or not as they are",
                f"{name}: {held}",
                remedy="grant list and watch on endpointslices (discovery.k8s.io), services and namespaces",
            )
        else:
            yield ok(f"{name} may list and watch what DNS needs", held)


def may(rules: Sequence[PolicyRule], verb: str, resource: Resource) -> bool:
    """Whether some rule grants it for objects of any name."""
    return any(
        _among(verb, rule.verbs)
        and _among(resource.group, rule.api_groups)
        and _among(resource.name, rule.resources)
        and not rule.resource_names
        for rule in rules
    )


def _reads_no_cluster(found: Maybe[Configuration]) -> bool:
    return not isinstance(found, Gap) and not found.errors and "kubernetes" not in found.directives


def _among(wanted: str, granted: Sequence[str]) -> bool:
    return wanted in granted or _ANY in granted


def _binds(binding: ClusterRoleBinding, namespace: str, account: str) -> bool:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    user = f"system:serviceaccount:{namespace}:{account}"

    def means(subject: Subject) -> bool:
        if subject.kind == "ServiceAccount":
            return (subject.namespace, subject.name) == (namespace, account)
        return (subject.kind == "Group" and subject.name in groups) or (subject.kind == "User" and subject.name == user)

    return any(map(means, binding.subjects))
