"""What fills a cluster's index and keeps it true: an API server, or manifests. Lent, so that it outlives a reload.

In a worker the index is a copy, which the supervisor's source keeps true.
"""

from __future__ import annotations

import asyncio
import gc
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol

from waypost import __version__
from waypost.cluster.index import Index
from waypost.cluster.objects import IMPORTED_SERVICE_LABEL, ServiceImport
from waypost.cluster.selector import parse_selector
from waypost.cluster.sink import Tee
from waypost.corefile.errors import CorefileError
from waypost.kube.client import ApiClient
from waypost.kube.config import ClusterAccess, from_endpoint, in_cluster, load_kubeconfig
from waypost.kube.errors import ClusterError
from waypost.kube.following import Counters, Sink
from waypost.kube.listwatch import ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES, Resource
from waypost.kube.reflector import Reflector
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.plugins.kubernetes.config import SourceConfig
from waypost.plugins.kubernetes.copies import Copy, Leader
from waypost.plugins.kubernetes.latency import LatencySink
from waypost.plugins.kubernetes.metrics import FollowMetrics, RequestCounters
from waypost.plugins.kubernetes.numeric_names import NumericNames
from waypost.plugins.kubernetes.snapshot import Snapshot

_POLL = 0.002
_SAY_WAITING = 0.5
_IMPORTED_KINDS = ("ServiceImport", "ImportedSlice")
_SERVICE_IMPORTS = Resource(
    "ServiceImport", "/apis/multicluster.x-k8s.io/v1alpha1/serviceimports", ServiceImport, version="v1alpha1"
)


class Follower(Protocol):
    """Something that keeps the index true until it is cancelled."""

    async def run(self) -> Any:
        """Run for ever."""
        ...


class CountedSink(Sink[Any], Protocol):
    """A sink that knows how many objects it keeps."""

    def count(self) -> int:
        """How many."""
        ...


class ClusterSource:
    """One cluster's index and the tasks that follow it."""

    def __init__(
        self, config: SourceConfig, log: Log, registry: Registry, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        """`now` is a monotonic clock in seconds."""
        kinds = ["Service", "Namespace"]
        if config.endpoints:
            kinds.append("EndpointSlice")
        if config.pods:
            kinds.append("Pod")
        self.index = Index(
            time.time,
            kinds=kinds,
            endpoint_pod_names=config.endpoint_pod_names,
            pod_labels=config.pod_labels,
            zones=config.zonal,
        )
        self.imports = Index(time.time, kinds=_IMPORTED_KINDS, endpoint_pod_names=config.endpoint_pod_names)
        """What other clusters export; empty, and never synced, unless `multicluster` names a zone."""
        self.imports.pods = self.index.pods  # pod names exist in those zones too
        self._kinds = kinds
        self._config = config
        self._log = log
        self._registry = registry
        self._metrics: FollowMetrics | None = None
        self._client: ApiClient | None = None
        self._snapshot: Snapshot | None = None
        self._tasks: list[asyncio.Task[Any]] = []
        self._changes = 0
        self._leader: Leader | None = None
        self._copy: Copy | None = None
        self._now = now
        self._following_since = now()
        self._counters: list[Counters] = []
        self._reflectors: dict[str, Reflector[Any]] = {}
        self.index.subscribe(self._changed)
        self.imports.subscribe(self._changed)

    async def start(self, patience: float) -> None:
        """Follow the cluster, and wait until everything was listed, at most `patience` seconds.

        Raises CorefileError when the configuration of the access is at fault.
        """
        if not self._tasks and self._copy is None:
            followers = self._followers()
            self._tasks = [asyncio.get_running_loop().create_task(follower.run()) for follower in followers]
        if not self._synced() and not self.index.restored:
            await self._wait(patience)

    def silence(self) -> float:
        """Seconds since the API server last gave a sign of life: an event or bookmark of any kind, or a whole list.

        Until the first one they count from the beginning.
        """
        if self._copy is not None:
            return self._now() - self._copy.sign
        signs = [sign for each in self._counters for sign in (each.last_event, each.last_sync) if sign is not None]
        return self._now() - max(signs, default=self._following_since)

    def versions(self) -> dict[str, int]:
        """The resourceVersion up to which each kind is followed; none for kinds that are not, and of manifests."""
        if self._copy is not None:
            return self._copy.versions
        found = {kind: reflector.version for kind, reflector in self._reflectors.items()}
        return {kind: version for kind, version in found.items() if version is not None}

    def _changed(self, keys: Sequence[bytes] | None) -> None:
        self._changes += 1

    def _synced(self) -> bool:
        return self.index.synced and (self.imports.synced or not self._config.imports)

    def lead(self, tell: Callable[[bytes], None]) -> None:
        """Tell copies of every change from now on."""
        indexes = (self.index, self.imports)
        self._leader = Leader(indexes, tell, self.versions, lambda: self._now() - self.silence())
        self._tasks.append(asyncio.get_running_loop().create_task(self._leader.run()))

    def whole(self) -> Iterable[bytes]:
        """Everything so far, for an empty copy; it must `lead`."""
        return self._leader.whole() if self._leader is not None else ()

    def follow(self) -> None:
        """Be a copy from now on. What the process before the fork had opened is its own: it is left as it is."""
        copy = Copy((self.index, self.imports), self._now() - self.silence(), self.versions())
        if self._leader is not None:
            self._leader.stop()
        if self._metrics is not None:
            self._metrics.forget()
        self._copy = copy

    def take(self, data: bytes) -> None:
        """A change came from whoever leads."""
        assert self._copy is not None
        self._copy.take(data)

    async def close(self) -> None:
        """Stop following."""
        if self._copy is not None:
            return
        if self._leader is not None:
            self._leader.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._snapshot is not None:
            await self._snapshot.save()
        if self._client is not None:
            await self._client.close()
        if self._metrics is not None:
            self._metrics.forget()

    def _followers(self) -> Sequence[Follower]:
        config = self._config
        if config.manifests:
            from waypost.kube.folder import ManifestSource  # with YAML: who asks an API server does without

            source = ManifestSource(
                config.manifests,
                self._sinks(),
                self._log,
                select=_selections(config),
            )
            source.load()
            return [source]
        try:
            access = cluster_access(config)
        except ClusterError as exc:
            raise CorefileError.unlocated(str(exc)).with_prefix("plugin/kubernetes: ") from exc
        requests = RequestCounters(self._registry)
        client = ApiClient(access, user_agent=f"Waypost/{__version__}", limits=config.limits, metrics=requests)
        metrics = FollowMetrics(self._registry, access.server)
        self._client, self._metrics = client, metrics
        reflectors: list[Follower] = []
        sinks = self._sinks()
        for name, resource in _resources(config).items():
            if name in sinks:
                reflector = Reflector(
                    resource, client, sinks[name], log=self._log, clock=self._now, changes=lambda: self._changes
                )
                self._counters.append(reflector.counters)
                self._reflectors[name] = reflector
                metrics.show(name, reflector.counters, sinks[name].count)
                reflectors.append(reflector)
        if config.snapshot:
            self._snapshot = Snapshot(config.snapshot, _identity(access, config), self.index, self._log, self._registry)
            self._snapshot.load()
            return [*reflectors, self._snapshot]
        return reflectors

    def _sinks(self) -> dict[str, CountedSink]:
        """Where the objects of each kind go."""
        sinks: dict[str, CountedSink] = {kind: self.index.sinks[kind] for kind in self._kinds}
        sinks["Service"] = NumericNames(self.index, self._log)
        if "EndpointSlice" in sinks:
            sinks["EndpointSlice"] = LatencySink(self.index, self._registry, self._log)
        if self._config.imports:
            sinks |= self.imports.import_sinks
            sinks["Namespace"] = Tee(self.index.sinks["Namespace"], self.imports.sinks["Namespace"])
        return sinks

    async def _wait(self, patience: float) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        said = loop.time()
        # A sync makes many objects that all stay: collecting meanwhile finds nothing and stops the loop for long.
        gc.disable()
        try:
            while not self._synced():
                if loop.time() >= deadline:
                    self._log.warning("starting server with unsynced Kubernetes API")
                    return
                if loop.time() - said >= _SAY_WAITING:
                    said = loop.time()
                    self._log.info("waiting for Kubernetes API before starting server")
                await asyncio.sleep(_POLL)
        finally:
            gc.enable()


def cluster_access(config: SourceConfig) -> ClusterAccess:
    """How to reach the API server. Raises ClusterError."""
    if config.kubeconfig:
        return load_kubeconfig(config.kubeconfig, config.context or None)
    if config.endpoint:
        return from_endpoint(config.endpoint, config.tls)
    return in_cluster(os.environ)


def _identity(access: ClusterAccess, config: SourceConfig) -> str:
    """What a snapshot must have been made with to be right for this configuration."""
    chosen = (config.labels, config.namespace_labels, config.endpoints, config.endpoint_pod_names, config.zonal)
    return repr((access.server, *chosen))


def _resources(config: SourceConfig) -> dict[str, Resource[Any]]:
    """What is followed, by the name of its sink, with the selectors that the API server applies."""
    labels, namespace_labels = config.labels, config.namespace_labels
    imported = ",".join(filter(None, (labels, IMPORTED_SERVICE_LABEL)))
    return {
        "Service": replace(SERVICES, label_selector=labels),
        "EndpointSlice": replace(ENDPOINT_SLICES, label_selector=labels),
        "Pod": replace(PODS, label_selector=labels),
        "Namespace": replace(NAMESPACES, label_selector=namespace_labels),
        # As in CoreDNS it is the namespaces' selector that is held against the labels of ServiceImports.
        "ServiceImport": replace(_SERVICE_IMPORTS, label_selector=namespace_labels),
        "ImportedSlice": replace(ENDPOINT_SLICES, label_selector=imported),
    }


def _selections(config: SourceConfig) -> dict[str, Callable[[Any], bool]]:
    """With manifests the selectors are applied here, as an API server would."""
    selections: dict[str, Callable[[Any], bool]] = {}
    if config.labels:
        by_labels = parse_selector(config.labels)
        for kind in ("Service", "EndpointSlice", "Pod"):
            selections[kind] = lambda item: by_labels(item.metadata.labels)
    if config.namespace_labels:
        by_namespace_labels = parse_selector(config.namespace_labels)
        selections["Namespace"] = lambda item: by_namespace_labels(item.metadata.labels)
    return selections
