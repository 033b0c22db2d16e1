"""Who the pods are to the API server, and what they may read: no more than the Corefile asks for."""

from __future__ import annotations

from collections.abc import Iterable

from waypost.addon.settings import Json, Settings

RBAC = "rbac.authorization.k8s.io"


def service_account(settings: Settings, name: str) -> Json:
    """ServiceAccount of one of our workloads."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": settings.metadata(name)}


def cluster_role(name: str, rules: list[Json]) -> Json:
    """ClusterRole with these rules."""
    return {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def cluster_role_binding(settings: Settings, role: str, account: str) -> Json:
    """ClusterRoleBinding of the role's name, for an account of the namespace."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": role},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [_subject(settings, account)],
    }


def role(settings: Settings, name: str, rules: list[Json]) -> Json:
    """Role in the namespace."""
    return {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": settings.metadata(name), "rules": rules}


def role_binding(settings: Settings, name: str) -> Json:
    """RoleBinding of a role to the account of the same name."""
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": settings.metadata(name),
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
        "subjects": [_subject(settings, name)],
    }


def reading_rules(reads: Iterable[str]) -> list[Json]:
    """Rules to list and watch resources (`group/plural`), one rule for each API group."""
    groups: dict[str, list[str]] = {}
    for read in reads:
        group, _, plural = read.rpartition("/")
        groups.setdefault(group, []).append(plural)
    return [
        {"apiGroups": [group], "resources": plurals, "verbs": ["list", "watch"]} for group, plurals in groups.items()
    ]


def _subject(settings: Settings, account: str) -> Json:
    return {"kind": "ServiceAccount", "name": account, "namespace": settings.namespace}
