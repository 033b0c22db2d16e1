"""Versions of the DNS server, of Kubernetes, and of the kubelets beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from waypost.diagnosis.facts import Cluster, Facts
from waypost.diagnosis.finding import Gap, Outcome, Unknown, counted, ok, unknown, warning
from waypost.diagnosis.objects import Node

_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})")
_OLDEST_KUBELET: Final = 3
"""Minor versions that a kubelet may be behind the API server."""
_FLOATING: Final = ("", "latest")


class Image(NamedTuple):
    """An image reference taken apart; `tag` is empty if it has none."""

    repository: str
    tag: str
    digest: str


def judge(facts: Facts) -> Iterator[Outcome]:
    """One version of each, and those that go together."""
    cluster = facts.objects()
    try:
        yield from _images(cluster)
    except Unknown as reason:
        yield unknown(str(reason))
    yield from _kubernetes(cluster)


def split_image(reference: str) -> Image:
    """`REGISTRY:PORT/NAME:TAG@DIGEST` to its parts."""
    named, _, digest = reference.partition("@")
    folder, slash, last = named.rpartition("/")
    name, _, tag = last.partition(":")
    return Image(f"{folder}{slash}{name}", tag, digest)


def _images(cluster: Cluster) -> Iterator[Outcome]:
    found: dict[str, list[str]] = {}
    for pod in cluster.dns_pods():
        for container in pod.spec.containers[:1]:
            found.setdefault(container.image, []).append(pod.metadata.name)
    lines = [f"Pod {cluster.namespace}/{name}.spec.containers[0].image: {image}" for image, (name, *_) in found.items()]
    if len(found) > 1:
        yield warning(
            f"DNS pods run {len(found)} different images: answers may differ from pod to pod",
            *lines,
            remedy="wait for the rollout to end (kubectl rollout status), or look why it does not",
        )
    for image, line in zip(found, lines, strict=True):
        parts = split_image(image)
        if parts.tag in _FLOATING and not parts.digest:
            yield warning(
                "the DNS image has no fixed version: the next restart may bring another one",
                line,
                remedy="name a version as the image's tag, or its digest",
            )
        elif len(found) == 1:
            yield ok(f"DNS server: {parts.repository.rpartition('/')[2]} {parts.tag or parts.digest}", line)


def _kubernetes(cluster: Cluster) -> Iterator[Outcome]:
    nodes = cluster.all(Node)
    if isinstance(cluster.version, Gap):
        yield unknown(f"version of the API server: {cluster.version.reason}", *_kubelets(nodes))
        return
    server = _minor(cluster.version)
    if server is None:
        yield unknown(f"version of the API server: not understood: {cluster.version}")
        return
    skewed = False
    for node in nodes:
        version = node.status.node_info.kubelet_version
        kubelet = _minor(version)
        if kubelet is None or kubelet[0] != server[0] or 0 <= server[1] - kubelet[1] <= _OLDEST_KUBELET:
            continue
        skewed = True
        newer = kubelet[1] > server[1]
        yield warning(
            f"the kubelet of {node.metadata.name} is {'newer than' if newer else 'too old for'} the API server",
            f"Node {node.metadata.name}.status.nodeInfo.kubeletVersion: {version}",
            f"API server: {cluster.version}",
            remedy="upgrade the API server first" if newer else "upgrade the kubelet",
        )
    if not skewed:
        yield ok(f"Kubernetes {cluster.version}", *_kubelets(nodes))


def _kubelets(nodes: Sequence[Node]) -> list[str]:
    counts: dict[str, int] = {}
    for node in nodes:
        version = node.status.node_info.kubelet_version
        counts[version] = counts.get(version, 0) + 1
    return [f"kubelet {version or '(unknown)'}: {counted(count, 'node')}" for version, count in sorted(counts.items())]


def _minor(version: str) -> tuple[int, int] | None:
    found = _VERSION.match(version)
    return (int(found[1]), int(found[2])) if found else None
