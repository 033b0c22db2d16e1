"""Everything that the chosen checks need, each source on its own: one that fails leaves a gap and stops no other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from waypost.diagnosis.checks import Check, Source
from waypost.diagnosis.facts import NOT_ASKED, Cluster, Configuration, Facts, NodeFiles, NodeText, Probes
from waypost.diagnosis.finding import Gap, Maybe, Unknown
from waypost.diagnosis.kubelets import DEFAULT_RESOLV_CONF
from waypost.diagnosis.mounts import Mounted, mounted
from waypost.diagnosis.objects import Object
from waypost.diagnosis.ports import cluster_ips
from waypost.doctor.api import Tell, opened, read_cluster, read_log
from waypost.doctor.corefile import examine
from waypost.doctor.dump import read_folder, read_logs
from waypost.doctor.nodefiles import read_file, read_node
from waypost.kube.config import ClusterAccess

if TYPE_CHECKING:
    from waypost.kube.client import ApiClient

_DOMAIN: Final = "cluster.local"


@dataclass(frozen=True, slots=True)
class Order:
    """What to look at. `access` or `folder` have the objects, a Gap says why neither does; `node` is the root of one.

    `inside` is set in a pod: it has a resolv.conf of its own and reaches the Service's address; a node's own root does
    the latter too. `upstreams` asks the upstreams; each request and question may take `seconds`.
    """

    objects: ClusterAccess | str | Gap
    node: str | Gap
    service: tuple[str, str] = ("kube-system", "kube-dns")
    clients: tuple[str, str] = ("", "")
    inside: bool = False
    reaches_service: bool = False
    upstreams: Maybe[None] = None
    seconds: float = 5.0


async def collect(order: Order, checks: Iterable[Check], tell: Tell) -> Facts:
    """The facts. Raises nothing that a check could live without."""
    chosen = list(checks)
    kinds = frozenset(kind for check in chosen for kind in check.kinds)
    sources = frozenset(source for check in chosen for source in check.sources)
    async with _client(order) as client:
        cluster = await _cluster(order, client, kinds, tell)
        logs: Mapping[tuple[str, str], str] = {}
        if Source.LOGS in sources and not isinstance(cluster, Gap):
            tell("reading logs")
            logs = await _logs(order, client, cluster)
    node = _node(order) if Source.NODE in sources else NOT_ASKED
    mounts = _mounts(cluster) if Source.CONFIGURATION in sources else NOT_ASKED
    resolv_conf = NOT_ASKED if isinstance(node, Gap) else node.resolv_conf
    if isinstance(node, Gap):
        resolv_conf = Gap(node.reason)
    tell("setting up the Corefile")
    configuration = _configuration(mounts, resolv_conf)
    upstreams, answers = await asyncio.gather(
        _upstreams(order, sources, configuration, mounts, resolv_conf, tell),
        _answers(order, sources, cluster, configuration, tell),
    )
    own = read_file("/", DEFAULT_RESOLV_CONF) if order.inside else Gap("this is no pod")
    return Facts(cluster, node, own, configuration, logs, upstreams, answers, datetime.now(UTC))


@asynccontextmanager
async def _client(order: Order) -> AsyncIterator[ApiClient | None]:
    if isinstance(order.objects, ClusterAccess):
        async with opened(order.objects) as client:
            yield client
    else:
        yield None


async def _cluster(
    order: Order, client: ApiClient | None, kinds: frozenset[type[Object]], tell: Tell
) -> Maybe[Cluster]:
    if isinstance(order.objects, Gap):
        return order.objects
    if not kinds:
        return NOT_ASKED
    if client is not None:
        return await read_cluster(client, kinds, order.service, order.clients, order.seconds, tell)
    assert isinstance(order.objects, str), "without a client there is a folder"
    tell(f"reading {order.objects}")
    return read_folder(order.objects, kinds, order.service, order.clients)


async def _logs(order: Order, client: ApiClient | None, cluster: Cluster) -> dict[tuple[str, str], str]:
    """Those of the DNS pods."""
    try:
        pods = cluster.dns_pods()
    except Unknown:
        return {}
    if client is None:
        return read_logs(str(order.objects), [pod.metadata.name for pod in pods])
    keys = [(pod.metadata.name, container.name) for pod in pods for container in pod.spec.containers[:1]]
    asked = (read_log(client, cluster.namespace, pod, container, order.seconds) for pod, container in keys)
    return dict(zip(keys, await asyncio.gather(*asked), strict=True))


def _node(order: Order) -> Maybe[NodeFiles]:
    return order.node if isinstance(order.node, Gap) else read_node(order.node)


def _mounts(cluster: Maybe[Cluster]) -> Maybe[Mounted]:
    if isinstance(cluster, Gap):
        return cluster
    try:
        return mounted(cluster)
    except Unknown as reason:
        return Gap(str(reason))


def _configuration(mounts: Maybe[Mounted], resolv_conf: Maybe[NodeText]) -> Maybe[Configuration]:
    if isinstance(mounts, Gap):
        return mounts
    try:
        return examine(mounts, resolv_conf)
    except Exception as error:  # a fault of a plugin, perhaps of another package: the other checks go on
        return Gap(f"{mounts.source}: setting it up failed: {type(error).__name__}: {error}")


async def _upstreams(
    order: Order,
    sources: frozenset[Source],
    configuration: Maybe[Configuration],
    mounts: Maybe[Mounted],
    resolv_conf: Maybe[NodeText],
    tell: Tell,
) -> Maybe[Probes]:
    if Source.UPSTREAMS not in sources:
        return NOT_ASKED
    if isinstance(order.upstreams, Gap):
        return order.upstreams
    if isinstance(configuration, Gap):
        return configuration
    from waypost.doctor.asking import ask_upstreams

    tell("asking the upstreams")
    files: Mapping[str, str] = {} if isinstance(mounts, Gap) else mounts.files
    return await ask_upstreams(configuration.upstreams, files, resolv_conf, order.seconds)


async def _answers(
    order: Order,
    sources: frozenset[Source],
    cluster: Maybe[Cluster],
    configuration: Maybe[Configuration],
    tell: Tell,
) -> Maybe[Probes]:
    if Source.SERVICE_ANSWERS not in sources:
        return NOT_ASKED
    if not order.reaches_service:
        return Gap("the Service's address is reached from pods and nodes only")
    if isinstance(cluster, Gap):
        return cluster
    try:
        addresses: Sequence[str] = cluster_ips(cluster.dns_service())
    except Unknown as reason:
        return Gap(str(reason))
    from waypost.doctor.asking import ask_service

    zones = () if isinstance(configuration, Gap) else sorted(configuration.zones)
    domain = next((zone for zone in zones if not zone.endswith(".arpa")), _DOMAIN)
    tell("asking the DNS Service")
    return await ask_service(addresses, f"kubernetes.default.svc.{domain}.", order.seconds)
