"""One poll after the other: count the cluster, read the parameters, compare with each target's scale, change it.

A ConfigMap that cannot be used leaves every target as it is, until it can; the parameters before it are forgotten. So
does anything else that fails; the next poll comes all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from waypost.autoscale.api import Api, ConfigMap
from waypost.autoscale.events import FAILED, SCALED, event
from waypost.autoscale.hold import Hold
from waypost.autoscale.metrics import Metrics
from waypost.autoscale.settings import Settings, Target
from waypost.cluster.objects import Meta
from waypost.kube.errors import ApiStatusError, ClusterError
from waypost.log import Log
from waypost.scaling.formula import ClusterSize, Wanted, wanted
from waypost.scaling.params import Params, ParamsError, read_data

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the last poll went; `problem` is empty if it went well."""

    problem: str = ""
    failures: int = 0
    """Failed polls in a row, this one included."""


class Controller:
    """Keeps the targets at the size that the parameters ask for."""

    def __init__(
        self,
        settings: Settings,
        api: Api,
        size: Callable[[], ClusterSize],
        log: Log,
        metrics: Metrics,
        *,
        clock: Callable[[], float],
        wall: Callable[[], float],
    ) -> None:
        """`size` gives the cluster as it is now, `clock` is monotonic, `wall` Unix time, both in seconds."""
        self.last = Outcome()
        self._settings = settings
        self._api = api
        self._size = size
        self._log = log
        self._metrics = metrics
        self._clock = clock
        self._wall = wall
        self._params: Params | None = None
        self._version = ""
        self._holds = {target: Hold(settings.hold) for target in settings.targets}
        self._told: dict[Target, str] = {}

    async def poll(self) -> Outcome:
        """Once. Never raises for what the API or the ConfigMap does."""
        try:
            problem = await self._poll()
        except (ClusterError, ParamsError) as exc:
            problem = str(exc)
        self.last = Outcome(problem, self.last.failures + 1 if problem else 0)
        self._metrics.polled("failed" if problem else "done")
        if problem:
            self._log.error(problem)
            for target in self._settings.targets:
                await self._tell(target, FAILED, problem)
        return self.last

    async def _poll(self) -> str:
        """The problem of the first target that could not be set. Raises ClusterError or ParamsError."""
        size = self._size()
        self._metrics.sized(size)
        params = await self._read_params()
        found = wanted(params, size)
        self._metrics.asked(found)
        self._log.debug(f"{size.nodes} nodes ({size.schedulable_nodes} schedulable), {size.cores} cores: {found}")
        problems = [problem for target in self._settings.targets if (problem := await self._set(target, found))]
        return "; ".join(problems)

    async def _read_params(self) -> Params:
        """Decoded again only when the ConfigMap changed. Raises ClusterError or ParamsError."""
        config = await self._config_map()
        version = config.metadata.resource_version
        if self._params is None or version != self._version:
            self._params = None
            try:
                self._params = read_data(config.data)
            except ParamsError as exc:
                raise ParamsError(f"ConfigMap {self._settings.configmap}", str(exc)) from exc
            self._version = version
            self._log.info(f"ConfigMap {self._settings.configmap}, version {version}: {self._params}")
        return self._params

    async def _config_map(self) -> ConfigMap:
        settings = self._settings
        try:
            return await self._api.config_map(settings.configmap)
        except ApiStatusError as exc:
            if exc.code != _NOT_FOUND or settings.default_params is None:
                raise
        data = dict(settings.default_params)
        if settings.dry_run:
            self._log.info(f"ConfigMap {settings.configmap} is not there; it would be made with the default parameters")
            return ConfigMap(Meta(), data)
        self._log.info(f"ConfigMap {settings.configmap} is not there, will create one with default params")
        return await self._api.create_config_map(settings.configmap, data)

    async def _set(self, target: Target, found: Wanted) -> str:
        """Bring a target to its size; gives the problem, empty if there is none."""
        try:
            current = await self._api.replicas(target)
            self._metrics.found(str(target), current)
            replicas = self._holds[target].allowed(self._clock(), current, found.replicas)
            if replicas == current:
                self._told.pop(target, None)
                return ""
            because = f"cores ask for {found.by_cores}, nodes for {found.by_nodes}"
            text = f"from {current} to {replicas} replicas: {because}"
            if self._settings.dry_run:
                self._log.info(f"{target}: would be scaled {text}")
                return ""
            await self._api.scale(target, replicas)
        except ClusterError as exc:
            return f"{target}: {exc}"
        self._metrics.changed(str(target), current, replicas)
        self._log.info(f"{target}: scaled {text}")
        await self._tell(target, SCALED, f"Scaled {text}")
        return ""

    async def _tell(self, target: Target, reason: str, message: str) -> None:
        """An Event, not the same twice in a row. If it cannot be made, that is no failure of the poll."""
        if self._settings.dry_run or self._told.get(target) == message:
            return
        self._told[target] = message
        try:
            await self._api.create_event(event(target, self._settings.namespace, reason, message, self._wall()))
        except ClusterError as exc:
            self._log.once_a_burst(self._log.warning, f"{target}: no event could be made: {exc}")
