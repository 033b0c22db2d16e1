"""The Corefile in its ConfigMap, whether the pods run it, and its upstreams."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from waypost.diagnosis.facts import Cluster, Facts, Probe
from waypost.diagnosis.finding import Gap, Outcome, Unknown, failure, known, ok, unknown, warning
from waypost.diagnosis.mounts import mounted
from waypost.diagnosis.objects import ConfigMap

_RELOAD_FAILED: Final = ("Corefile changed but reload failed", "Restart failed")
_TAKEN_UP: Final = timedelta(minutes=3)
"""A mounted ConfigMap follows within about a minute and a half, `reload` looks every 30 to 45 seconds."""
_SLOW: Final = 1.0


def judge_corefile(facts: Facts) -> Iterator[Outcome]:
    """Whether a server would start with it."""
    found = known(facts.configuration)
    for text in found.errors:
        yield failure(
            "no server starts with this Corefile",
            f"{found.source}: {text}",
            remedy="correct it (waypost check reads a file alike); pods serve the last good one until they restart",
        )
    if not found.errors:
        yield ok("the Corefile is accepted", found.source)


def judge_advice(facts: Facts) -> Iterator[Outcome]:
    """What `waypost check` advises."""
    found = known(facts.configuration)
    for each in found.advice:
        summary, evidence = f"{each.code}: {each.text}", f"{found.source}: {each.place}"
        yield warning(summary, evidence, remedy=each.remedy) if each.grave else ok(summary, evidence)
    if not found.advice:
        yield ok("no advice about the Corefile", found.source)


def judge_freshness(facts: Facts) -> Iterator[Outcome]:
    """Whether the pods run what the ConfigMap says now."""
    cluster = facts.objects()
    files = mounted(cluster)
    failed = [
        f"log of Pod {cluster.namespace}/{pod} [{container}]: {line.strip()}"
        for (pod, container), text in facts.logs.items()
        for line in text.splitlines()
        if any(mark in line for mark in _RELOAD_FAILED)
    ]
    if failed:
        yield failure(
            "a DNS pod refused the ConfigMap's Corefile and runs an older one",
            failed[-1],
            remedy="correct the Corefile; the log line says what is wrong",
        )
        return
    changed = last_change(files.config_map)
    if changed is None:
        raise Unknown(
            f"{files.source}: neither metadata.managedFields nor metadata.creationTimestamp says when it changed"
        )
    older = [(name, started) for name, started in _started(cluster) if started < changed]
    when = f"{files.source}: changed {changed.isoformat()}"
    if not older:
        yield ok("every DNS pod started after the last change of its configuration", when)
        return
    evidence = [when, *(f"Pod {cluster.namespace}/{name}: running since {since.isoformat()}" for name, since in older)]
    yield _older(facts, changed, evidence)


def _older(facts: Facts, changed: datetime, evidence: list[str]) -> Outcome:
    found = known(facts.configuration)
    if found.errors:
        return unknown("DNS pods are older than the last change, and the Corefile is not accepted", *evidence)
    if "reload" not in found.directives:
        return failure(
            "DNS pods run an older configuration: the ConfigMap changed after they started, and there is no reload",
            *evidence,
            remedy="restart them (kubectl rollout restart), and add `reload` to the Corefile",
        )
    if not isinstance(facts.now, Gap) and facts.now - changed < _TAKEN_UP:
        return ok("the ConfigMap changed just now; reload takes it up within minutes", *evidence)
    return ok("the ConfigMap changed after the pods started; reload has taken it up", *evidence)


def last_change(config_map: ConfigMap) -> datetime | None:
    """When its data was last set, or, if nothing tells, when it was made."""
    entries = [each for each in config_map.metadata.managed_fields if {"f:data", "f:binaryData"} & each.fields.keys()]
    times = [time for each in entries if (time := _time(each.time)) is not None]
    return max(times, default=_time(config_map.metadata.creation_timestamp))


def judge_upstreams(facts: Facts) -> Iterator[Outcome]:
    """Whether each upstream of `forward` answers from here, and how fast."""
    probes, unasked = known(facts.upstreams)
    by_address: dict[str, list[Probe]] = {}
    for probe in probes:
        by_address.setdefault(probe.address, []).append(probe)
    for address, asked in by_address.items():
        yield _upstream(address, asked)
    for text in unasked:
        yield unknown(f"not asked: {text}")
    if not probes and not unasked:
        yield ok("the Corefile forwards nowhere")


def _upstream(address: str, asked: list[Probe]) -> Outcome:
    lines = [f"{probe.transport}: {probe.error or probe.rcode} after {probe.seconds * 1000:.0f} ms" for probe in asked]
    lost = [probe for probe in asked if probe.error]
    if len(lost) == len(asked):
        return failure(
            f"upstream {address} does not answer",
            *lines,
            remedy="check the address, and firewalls on the way for UDP and TCP",
        )
    if lost:
        only = ", ".join(probe.transport for probe in lost)
        return warning(
            f"upstream {address} does not answer over {only}",
            *lines,
            remedy="open it: UDP for speed, TCP for answers that are cut to fit a datagram",
        )
    if (slowest := max(probe.seconds for probe in asked)) > _SLOW:
        return warning(
            f"upstream {address} takes {slowest:.1f} s to answer",
            *lines,
            remedy="use a nearer upstream, or find what is slow on the way",
        )
    return ok(f"upstream {address} answers", *lines)


def _started(cluster: Cluster) -> Iterator[tuple[str, datetime]]:
    for pod in cluster.dns_pods():
        for status in pod.status.container_statuses[:1]:
            running = status.state.running
            if running is not None and (started := _time(running.started_at)) is not None:
                yield pod.metadata.name, started


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
