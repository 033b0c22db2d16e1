"""Advice on what operators need: probes, metrics, logs, reloads, and an end without lost queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Block, Subject, Use
from waypost.corefile.addresses import is_ip, parse_ip, split_host_port

_FAILING: Final = ("forward", "grpc", "kubernetes", "etcd", "secondary")
_LARGEST_IN_ONE_PIECE: Final = 1232
_CHEAP_CLASSES: Final = frozenset(("denial", "error"))
_LOOPBACK_NAMES: Final = ("localhost",)


def _cluster(subject: Subject) -> Block | None:
    """The first block that serves a cluster."""
    return next(subject.using("kubernetes"), None)


def _missing_for_cluster(subject: Subject, name: str) -> Iterator[Remark]:
    block = _cluster(subject)
    if block is not None and not any(subject.using(name)):
        yield Remark(block.place, f"no block has `{name}`")


def errors_missing(subject: Subject) -> Iterator[Remark]:
    """What fails is said nowhere."""
    for block in subject.using(*_FAILING):
        if not block.has("errors"):
            yield Remark(block.place, f"the block {block.place.text} has no `errors`")


def health_missing(subject: Subject) -> Iterator[Remark]:
    """A liveness probe has nothing to ask."""
    return _missing_for_cluster(subject, "health")


def ready_missing(subject: Subject) -> Iterator[Remark]:
    """A readiness probe has nothing to ask."""
    return _missing_for_cluster(subject, "ready")


def reload_missing(subject: Subject) -> Iterator[Remark]:
    """A change of the ConfigMap needs a restart."""
    return _missing_for_cluster(subject, "reload")


def no_lameduck(subject: Subject) -> Iterator[Remark]:
    """The server ends while clients are still sent to it."""
    for _, use in subject.uses("health"):
        if not use.has("lameduck"):
            yield Remark(use.name, "`health` without `lameduck`")


def metrics_missing(subject: Subject) -> Iterator[Remark]:
    """Queries that nobody counts."""
    if _cluster(subject) is None and not any(subject.using("prometheus")):
        return
    for block in subject.using(*_FAILING):
        if not block.has("prometheus"):
            yield Remark(block.place, f"queries of the block {block.place.text} are not counted: no `prometheus`")


def metrics_on_loopback(subject: Subject) -> Iterator[Remark]:
    """Only the pod itself can read them."""
    for block, use in subject.uses("prometheus"):
        address = use.args[0].text if use.args else "localhost:9153"
        if block.has("kubernetes") and _is_loopback(address):
            yield Remark(use.name, f"metrics are served on {address} only")


def _is_loopback(address: str) -> bool:
    try:
        host, _ = split_host_port(address)
    except ValueError:
        return False
    return host in _LOOPBACK_NAMES or (is_ip(host) and parse_ip(host).is_loopback)


def every_query_logged(subject: Subject) -> Iterator[Remark]:
    """A line a query costs more than the query."""
    for _, use in subject.uses("log"):
        if not _classes(use) or _classes(use) - _CHEAP_CLASSES:
            yield Remark(use.name, "every query is a line of the log")


def _classes(use: Use) -> set[str]:
    return {word for option in use.all("class") for word in option.words}


def debug(subject: Subject) -> Iterator[Remark]:
    """A fault of one plugin ends the process."""
    for _, use in subject.uses("debug"):
        yield Remark(use.name, "`debug` is on")


def fragmented(subject: Subject) -> Iterator[Remark]:
    """Datagrams larger than what passes every path in one piece."""
    for _, use in subject.uses("bufsize"):
        word = use.words[0] if use.words else ""
        if word.isascii() and word.isdigit() and int(word[:6]) > _LARGEST_IN_ONE_PIECE:
            yield Remark(use.args[0], f"answers of up to {word} bytes in one datagram")


RULES: Final = (
    Rule(
        "W501", WARNING, "no `errors`",
        "What fails is said nowhere.",
        "Add `errors`.",
        errors_missing,
    ),
    Rule(
        "W502", WARNING, "no `health`",
        "The liveness probe of the usual Deployment asks port 8080 and would kill the pod.",
        "Add `health { lameduck 5s }`, on three lines.",
        health_missing,
    ),
    Rule(
        "W503", WARNING, "`health` without `lameduck`",
        "The server ends at once, while nodes still send questions to it: each rollout loses some.",
        "Write `lameduck 5s` into its block.",
        no_lameduck,
    ),
    Rule(
        "W504", WARNING, "no `ready`",
        "The readiness probe of the usual Deployment asks port 8181; without it, or with none, a pod gets questions "
        "before it knows the cluster.",
        "Add `ready`.",
        ready_missing,
    ),
    Rule(
        "W505", NOTICE, "no `reload`",
        "A changed ConfigMap is read at the next restart.",
        "Add `reload`.",
        reload_missing,
    ),
    Rule(
        "W506", NOTICE, "no `prometheus`",
        "Its queries are missing in every dashboard and alert.",
        "Add `prometheus :9153` to each block.",
        metrics_missing,
    ),
    Rule(
        "W507", NOTICE, "metrics on loopback",
        "Prometheus asks the pod's address.",
        "Write `prometheus :9153`.",
        metrics_on_loopback,
    ),
    Rule(
        "W508", NOTICE, "every query logged",
        "A line for each costs more than the answer, and fills the node's disk.",
        "Write `class denial error` into its block, or take `log` out when you have seen what you looked for.",
        every_query_logged,
    ),
    Rule(
        "W509", WARNING, "`debug`",
        "A fault in a plugin ends the process instead of one query.",
        "Take it out.",
        debug,
    ),
    Rule(
        "W510", NOTICE, "datagrams that are cut into fragments",
        "Many paths lose fragments, and forged queries bring their victim more.",
        "Write `bufsize 1232`.",
        fragmented,
    ),
)  # fmt: skip
