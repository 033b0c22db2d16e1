"""Advice on `kubernetes`, `k8s_external` and `autopath`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Subject, Use
from waypost.advice.zones import REVERSE, falls_through, is_reverse, zones_of

_BEHIND: Final = ("file", "auto", "secondary", "etcd", "forward", "grpc")


def _by_cluster(use: Use) -> bool:
    return use.words[-1:] == ("@kubernetes",)


def autopath_without_pods(subject: Subject) -> Iterator[Remark]:
    """Without pods nobody knows whose search list is meant."""
    for block, use in subject.uses("autopath"):
        if _by_cluster(use) and not any(_pods(source) == "verified" for source in block.uses("kubernetes")):
            yield Remark(use.name, "`autopath @kubernetes` without `pods verified` in this block")


def _pods(use: Use) -> str:
    option = use.last("pods")
    return "".join(option.words[:1]) if option is not None else "disabled"


def autopath_and_cache(subject: Subject) -> Iterator[Remark]:
    """Which of the two comes first has changed."""
    for block, use in subject.uses("autopath"):
        if block.has("cache"):
            yield Remark(use.name, "`autopath` and `cache` in one block")


def autopath_without_upstream(subject: Subject) -> Iterator[Remark]:
    """The last name of the search is nobody's."""
    for block, use in subject.uses("autopath"):
        if not block.has("forward", "grpc"):
            yield Remark(use.name, "`autopath` in a block that does not forward")


def reverse_without_fallthrough(subject: Subject) -> Iterator[Remark]:
    """Addresses of others are answered NXDOMAIN."""
    for block, use in subject.uses("kubernetes"):
        missing = [z for z in zones_of("kubernetes", use, block) if z in REVERSE and not falls_through(use, z)]
        if missing and block.has(*_BEHIND):
            yield Remark(use.name, f"no `fallthrough` for {' '.join(missing)}")


def cluster_names_leave(subject: Subject) -> Iterator[Remark]:
    """What the cluster does not know is asked upstream, cluster names too."""
    for block, use in subject.uses("kubernetes"):
        option = use.last("fallthrough")
        own = [zone for zone in zones_of("kubernetes", use, block) if not is_reverse(zone)]
        leaving = [zone for zone in own if falls_through(use, zone)]
        if option is not None and leaving and block.has("forward", "grpc"):
            yield Remark(option.name, f"names of {leaving[0]} that do not exist are asked upstream")


def no_reverse_zones(subject: Subject) -> Iterator[Remark]:
    """Addresses of the cluster have no names, and are asked upstream."""
    for block, use in subject.uses("kubernetes"):
        if block.has("forward") and not any(map(is_reverse, zones_of("kubernetes", use, block))):
            yield Remark(use.name, "`kubernetes` has no reverse zones")


def pods_insecure(subject: Subject) -> Iterator[Remark]:
    """Any address has a name below the cluster's."""
    for _, use in subject.uses("kubernetes"):
        option = use.last("pods")
        if option is not None and option.words == ("insecure",):
            yield Remark(option.name, "`pods insecure` answers for every address, pod or not")


def zero_ttl(subject: Subject) -> Iterator[Remark]:
    """Nobody may keep an answer."""
    for _, use in subject.uses("kubernetes", "k8s_external"):
        option = use.last("ttl")
        if option is not None and option.words[:1] == ("0",):
            yield Remark(option.name, "answers have a TTL of 0")


def no_endpoints(subject: Subject) -> Iterator[Remark]:
    """Headless Services are gone."""
    for _, use in subject.uses("kubernetes"):
        option = use.last("noendpoints")
        if option is not None:
            yield Remark(option.name, "`noendpoints` leaves out every headless Service")


RULES: Final = (
    Rule(
        "W201", WARNING, "`autopath @kubernetes` without `pods verified`",
        "Whose search list is meant is known from the pod's address only: without it nothing is shortened.",
        "Write `pods verified` in the block of `kubernetes`; it costs an entry of memory for each pod.",
        autopath_without_pods,
    ),
    Rule(
        "W202", NOTICE, "`autopath` and `cache` in one block",
        "In CoreDNS before 1.14 the cache is asked first and keeps what `autopath` found for a client of one namespace "
        "for clients of others. In Waypost and since 1.14 `autopath` comes first.",
        "While both run, keep an eye on it; nothing is to be done for Waypost alone.",
        autopath_and_cache,
    ),
    Rule(
        "W203", WARNING, "`autopath` in a block that does not forward",
        "The last name it tries is the one as asked, which nobody answers there: SERVFAIL where NXDOMAIN is right.",
        "Add `forward . /etc/resolv.conf`, or take `autopath` out.",
        autopath_without_upstream,
    ),
    Rule(
        "W204", WARNING, "reverse zones of `kubernetes` without `fallthrough`",
        "It then answers NXDOMAIN for every address in the world that is not the cluster's.",
        "Write `fallthrough in-addr.arpa ip6.arpa`, or name only the networks of the cluster.",
        reverse_without_fallthrough,
    ),
    Rule(
        "W205", WARNING, "names of the cluster's zone fall through to an upstream",
        "Every misspelt Service and every step of a search list leaves the cluster: slow, and others can read along.",
        "Write `fallthrough in-addr.arpa ip6.arpa`.",
        cluster_names_leave,
    ),
    Rule(
        "W206", NOTICE, "`kubernetes` without reverse zones",
        "Addresses of the cluster have no names, and who looks them up asks the upstream for private addresses.",
        "Write `kubernetes cluster.local in-addr.arpa ip6.arpa` with `fallthrough in-addr.arpa ip6.arpa`.",
        no_reverse_zones,
    ),
    Rule(
        "W207", NOTICE, "`pods insecure`",
        "`192-0-2-1.NAMESPACE.pod.cluster.local` resolves for any address: a certificate for it proves nothing.",
        "Write `pods disabled` if nothing uses these names, else `pods verified`.",
        pods_insecure,
    ),
    Rule(
        "W208", WARNING, "a TTL of 0",
        "No client and no node cache keeps an answer: each connection begins with a question. `cache` makes it 5.",
        "Write `ttl 5` or more.",
        zero_ttl,
    ),
    Rule(
        "W209", NOTICE, "`noendpoints`",
        "Headless Services and the pods of StatefulSets have no names.",
        "Delete the line, unless there are none.",
        no_endpoints,
    ),
)  # fmt: skip
