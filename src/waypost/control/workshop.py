"""Sets configurations up: Corefile -> Instance, with what the process lends to all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from waypost.control.build import Listen, build
from waypost.control.catalogue import Catalogue
from waypost.control.files import BUILT_IN_NAME, Source
from waypost.control.instance import Instance
from waypost.control.lender import Lease, Pool
from waypost.control.outlets import Listening
from waypost.corefile.model import Corefile
from waypost.dispatch.site import ConfigurationFacts, Hooks, Services
from waypost.log import Log
from waypost.metrics.registry import Registry


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    source: Source
    port: str = "53"
    manifests: tuple[str, ...] = ()
    listen: Listen | None = None
    kubeconfig: tuple[str, str] = ("", "")


@dataclass(slots=True)
class Workshop:
    """Where configurations are set up. `exit` is called with a code when a plugin wants the process to end."""

    settings: Settings
    log: Log
    catalogue: Catalogue
    exit: Callable[[int], None]
    metrics: Registry = field(default_factory=Registry)
    pool: Pool = field(default_factory=Pool)

    def prepare(self, corefile: Corefile, digest: str) -> Instance:
        """Set up a configuration without starting anything. Raises CorefileError."""
        hooks = Hooks()
        lease = Lease(self.pool)
        intervals: list[tuple[float, float]] = []
        built_in = any(label.file == BUILT_IN_NAME for block in corefile.blocks for label in block.labels)
        services = Services(
            log=self.log,
            metrics=self.metrics,
            lender=lease,
            hooks=hooks,
            exit=self._exit,
            watch_configuration=lambda every, jitter: intervals.append((every, jitter)),
            manifests=self.settings.manifests,
            kubeconfig=self.settings.kubeconfig,
            configuration=ConfigurationFacts(digest, () if built_in else corefile.files, time.time()),
        )
        try:
            plan = build(corefile, self.settings.port, services, self.catalogue, self.settings.listen)
        except BaseException:
            lease.forget()
            raise
        instance = Instance(plan, hooks, lease, Listening(plan, Lease(self.pool), self.metrics), digest)
        instance.built_in = built_in
        instance.reload_every = intervals[-1] if intervals else None
        return instance

    def _exit(self, code: int) -> None:
        """Plugins keep this, and `exit` changes with the process."""
        self.exit(code)
