"""The DNS pods: whether they run, why they restarted, whom they ask themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from waypost.diagnosis.facts import Cluster, Facts
from waypost.diagnosis.finding import Gap, Outcome, Unknown, counted, failure, ok, warning
from waypost.diagnosis.workloads import ContainerStatus, Pod
from waypost.podside.policy import CLUSTER_FIRST, CLUSTER_FIRST_WITH_HOST_NET, DEFAULT

# What CoreDNS's loop plugin says before it ends the process, and ours when it goes on.
_LOOP = re.compile(r"Loop \(.{1,200}\) detected for zone.{0,300}")
_CRASHING: Final = frozenset(
    ("CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "RunContainerError")
)
_NO_IMAGE: Final = frozenset(("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"))
_OTHER_FAULT: Final = "look at the log of the container's last run (kubectl logs --previous)"
_REMEDIES: Final = {
    "OOMKilled": "raise the container's memory limit",
    "Error": _OTHER_FAULT,
}


def judge_running(facts: Facts) -> Iterator[Outcome]:
    """Every one of them runs and is ready."""
    cluster = facts.objects()
    pods = cluster.dns_pods()
    if not pods:
        yield failure("there is no DNS pod", remedy="look at the Deployment: its replicas and its events")
        return
    sick = False
    for pod in pods:
        for summary, evidence, remedy in _faults(pod):
            sick = True
            yield failure(summary, evidence, remedy=remedy)
    if not sick:
        yield ok(f"{counted(len(pods), 'DNS pod')}, running and ready", *map(_named, pods))


def judge_loop(facts: Facts) -> Iterator[Outcome]:
    """Whether a pod ended, or warned, because its queries came back to it."""
    cluster = facts.objects()
    looping = False
    silent: list[str] = []
    for pod in cluster.dns_pods():
        said = list(_loop_lines(pod, facts))
        if said:
            looping = True
            yield failure(
                f"queries of {_named(pod)} come back to itself",
                *said,
                remedy="the upstream leads back here: give the kubelet a resolvConf without 127.0.0.53 and make the DNS"
                " pods anew, or write the upstreams' addresses into the Corefile",
            )
        elif any(each.restart_count for each in pod.status.container_statuses):
            silent += [_named(pod)] if not _logs(pod, facts) else []
    if silent and not looping:
        raise Unknown(f"{', '.join(silent)} restarted, and neither its status nor a log at hand says why")
    if not looping:
        yield ok("no DNS pod has found a forwarding loop")


def judge_restarts(facts: Facts) -> Iterator[Outcome]:
    """Why containers ended, loops left to their own check."""
    cluster = facts.objects()
    pods = cluster.dns_pods()
    restarted = False
    for pod in pods:
        for status in pod.status.container_statuses:
            ended = status.last_state.terminated
            if not status.restart_count or any(_loop_lines(pod, facts)):
                continue
            restarted = True
            reason = ended.reason if ended is not None else "reason unknown"
            place = f"{_named(pod)}.status.containerStatuses[{status.name}]"
            evidence = [f"{place}.restartCount: {status.restart_count}"]
            if ended is not None:
                evidence.append(
                    f"{place}.lastState.terminated: {reason}, exit code {ended.exit_code}, {ended.finished_at}"
                )
            yield warning(
                f"{_named(pod)} restarted {counted(status.restart_count, 'time')}: {reason}",
                *evidence,
                remedy=_REMEDIES.get(reason, _OTHER_FAULT),
            )
    if not restarted:
        yield ok("no DNS pod restarted")


def judge_policy(facts: Facts) -> Iterator[Outcome]:
    """A DNS pod that forwards to its own resolv.conf must not find itself there."""
    cluster = facts.objects()
    forwards = _forwards_to_file(facts)
    sick = False
    for pod in cluster.dns_pods():
        policy = pod.spec.dns_policy or CLUSTER_FIRST
        asks_itself = policy == CLUSTER_FIRST_WITH_HOST_NET or (policy == CLUSTER_FIRST and not pod.spec.host_network)
        if not asks_itself or forwards is False:
            continue
        sick = True
        tell = failure if forwards else warning
        yield tell(
            f"{_named(pod)} forwards to /etc/resolv.conf, where it finds the DNS Service: itself"
            if forwards
            else f"{_named(pod)} has the DNS Service, itself, as its resolver",
            f"{_named(pod)}.spec.dnsPolicy: {policy}",
            remedy=f"set dnsPolicy: {DEFAULT} in the Deployment's pod template",
        )
    if not sick:
        yield ok("the DNS pods do not ask themselves")


def _forwards_to_file(facts: Facts) -> bool | None:
    if isinstance(facts.configuration, Gap) or facts.configuration.errors:
        return None
    return any(upstream.startswith("/") for upstream in facts.configuration.upstreams)


def _named(pod: Pod) -> str:
    return f"Pod {pod.metadata.namespace}/{pod.metadata.name}"


def _faults(pod: Pod) -> Iterator[tuple[str, str, str]]:
    """Summary, evidence and remedy of each reason why it does not serve."""
    name, status = _named(pod), pod.status
    waiting = [
        (each, each.state.waiting)
        for each in status.container_statuses
        if each.state.waiting is not None and each.state.waiting.reason in _CRASHING | _NO_IMAGE
    ]
    for container, wait in waiting:
        remedy = "check the image's name and the registry's credentials" if wait.reason in _NO_IMAGE else _OTHER_FAULT
        place = f"{name}.status.containerStatuses[{container.name}].state.waiting"
        yield f"{name} does not run: {wait.reason}", f"{place}: {wait.reason}: {wait.message}", remedy
    if waiting:
        return
    if status.phase not in ("Running", ""):
        because = [f"{each.type}={each.status}" for each in status.conditions if each.status == "False"]
        text = f"{name}.status.phase: {status.phase} {status.reason} ({', '.join(because) or 'no condition'})"
        yield f"{name} is {status.phase}", text, "look at the pod's events (kubectl describe pod)"
        return
    if any(each.type == "Ready" and each.status == "False" for each in status.conditions):
        place = f"{name}.status.conditions: Ready=False"
        yield (
            f"{name} runs and is not ready",
            place,
            "look at its log: a plugin such as kubernetes waits for the API server",
        )


def _loop_lines(pod: Pod, facts: Facts) -> Iterator[str]:
    """Where it says that it found a loop."""
    for status in pod.status.container_statuses:
        for place, text in _messages(pod, status):
            if (found := _LOOP.search(text)) is not None:
                yield f"{place}: {found[0]}"
    for container, text in _logs(pod, facts).items():
        if (found := _LOOP.search(text)) is not None:
            yield f"log of {_named(pod)} [{container}]: {found[0]}"


def _messages(pod: Pod, status: ContainerStatus) -> Iterator[tuple[str, str]]:
    """What the kubelet kept of the container's last words (terminationMessagePolicy: FallbackToLogsOnError)."""
    place = f"{_named(pod)}.status.containerStatuses[{status.name}]"
    for name, state in (("state", status.state), ("lastState", status.last_state)):
        if state.terminated is not None:
            yield f"{place}.{name}.terminated.message", state.terminated.message


def _logs(pod: Pod, facts: Facts) -> dict[str, str]:
    return {container: text for (name, container), text in facts.logs.items() if name == pod.metadata.name and text}


def restarted_containers(cluster: Cluster) -> list[tuple[str, str]]:
    """Pod and container names of DNS pods that restarted: whose last log is worth reading. Raises Unknown."""
    return [
        (pod.metadata.name, status.name)
        for pod in cluster.dns_pods()
        for status in pod.status.container_statuses
        if status.restart_count
    ]
