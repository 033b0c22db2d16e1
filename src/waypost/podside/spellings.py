"""The spellings of one target, from where each is used and how many queries it costs."""

from __future__ import annotations

from typing import NamedTuple


class Spelling(NamedTuple):
    """A way to write a name, and the namespace of the pod that uses it."""

    name: str
    namespace: str


class Target(NamedTuple):
    """A name without its final dot; the parts are empty for one outside the cluster."""

    name: str
    service: str = ""
    namespace: str = ""

    def spellings(self, namespace: str) -> list[Spelling]:
        """From the shortest to the one with the final dot; all but the first from another namespace than the target's.

        `namespace` is the one of a pod that asks, taken where it is another.
        """
        if not self.service:
            return [Spelling(self.name, namespace), Spelling(f"{self.name}.", namespace)]
        other = next(each for each in (namespace, "default", "other") if each != self.namespace)
        short = f"{self.service}.{self.namespace}"
        elsewhere = (short, f"{short}.svc", self.name, f"{self.name}.")
        return [Spelling(self.service, self.namespace), *(Spelling(name, other) for name in elsewhere)]


def cluster_target(name: str, domain: str) -> Target:
    """The target whose full name this is, `SERVICE.NAMESPACE.svc.DOMAIN`; one outside the cluster for any other."""
    bare = name.removesuffix(".")
    service, dot, namespace = bare.removesuffix(f".svc.{domain}").rpartition(".")
    if not bare.endswith(f".svc.{domain}") or not dot:
        return Target(bare)
    return Target(bare, service, namespace)


def guessed_target(name: str, domain: str, namespace: str) -> Target:
    """The target that a spelling most likely means when nobody can be asked, seen from a namespace."""
    bare = name.removesuffix(".")
    target = cluster_target(bare, domain)
    if target.service or name.endswith("."):
        return target
    short = bare.removesuffix(f".{domain}").removesuffix(".svc")
    if short == bare and bare.count(".") > 1:
        return target
    full = f"{short}.svc.{domain}" if "." in short else f"{short}.{namespace}.svc.{domain}"
    return cluster_target(full, domain)
