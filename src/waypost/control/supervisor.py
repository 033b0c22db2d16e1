"""The life of the process: load a configuration, replace it by a new one, stop. No query is lost by any of them.

A reload builds and starts the whole new configuration beside the old one, on the same sockets; only when it stands do
the listeners hand their packets to it, and the old one stops after its last query. Whatever goes wrong before that
leaves the old one as it was.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
from collections.abc import Callable, Container
from dataclasses import dataclass

from waypost.control.build import Listen, build, load_plugin
from waypost.control.files import OsReader, Source, built_in
from waypost.control.instance import Instance
from waypost.control.lender import Lease, Pool
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile
from waypost.corefile.parser import parse
from waypost.dispatch.site import Hooks, Services
from waypost.log import Log
from waypost.metrics.registry import Registry
from waypost.plugins.order import ORDER


@dataclass(frozen=True, slots=True)
class Settings:
    """What the command line says."""

    source: Source
    port: str = "53"
    manifests: tuple[str, ...] = ()
    listen: Listen | None = None


class Supervisor:
    """Holds the running configuration. `exit` is called with a code when a plugin wants the process to end."""

    def __init__(self, settings: Settings, log: Log, exit_process: Callable[[int], None]) -> None:
        self.settings = settings
        self.log = log
        self.metrics = Registry()
        self.instance: Instance | None = None
        self._exit = exit_process
        self._pool = Pool()
        self._reloading = asyncio.Lock()
        self._failed = self.metrics.counter(
            "coredns_reload_failed_total", "Counter of the number of failed reload attempts."
        ).labels()
        self._version = self.metrics.gauge(
            "coredns_reload_version_info", "A metric with a constant '1' value labeled by hash, and value.",
            ("hash", "value"),
        )  # fmt: skip

    def read(self) -> tuple[Corefile, str]:
        """Parse the configuration as it is now; gives it with the SHA-512 of its token tree. Raises CorefileError."""
        return read_corefile(self.settings.source, self.settings.port, ORDER)

    def fingerprint(self) -> str:
        """The SHA-512 of the configuration's tokens as they are now, whatever directives they name.

        Raises CorefileError when it cannot be parsed at all.
        """
        return read_corefile(self.settings.source, self.settings.port, Anything())[1]

    def prepare(self, corefile: Corefile, digest: str) -> Instance:
        """Set up a configuration without starting anything. Raises CorefileError."""
        hooks = Hooks()
        lease = Lease(self._pool)
        intervals: list[tuple[float, float]] = []
        services = Services(
            log=self.log,
            metrics=self.metrics,
            lender=lease,
            hooks=hooks,
            exit=self._exit,
            watch_configuration=lambda every, jitter: intervals.append((every, jitter)),
            manifests=self.settings.manifests,
        )
        try:
            plan = build(corefile, self.settings.port, services, load_plugin, self.settings.listen)
        except BaseException:
            lease.forget()
            raise
        instance = Instance(plan, hooks, lease, self.metrics, digest)
        instance.reload_every = intervals[-1] if intervals else None
        return instance

    async def start(self) -> Instance:
        """Load the first configuration. Raises CorefileError or OSError; nothing runs then."""
        corefile, digest = self.read()
        for warning in corefile.warnings:
            self.log.warning(warning)
        instance = self.prepare(corefile, digest)
        await instance.start()
        await instance.activate()
        self.instance = instance
        self._say_digest(instance)
        _settle_memory()
        return instance

    async def reload(self, corefile: Corefile, digest: str) -> None:
        """Replace the running configuration. Raises what went wrong; the old one runs on then."""
        async with self._reloading:
            old = self.instance
            self.log.info("Reloading")
            try:
                new = self.prepare(corefile, digest)
                await new.start()
            except Exception as exc:
                self.log.error(f"Restart failed: {exc}")
                raise
            await new.activate()
            self.instance = new
            self._say_digest(new)
            if old is not None:
                await old.stop()
            self.log.info("Reloading complete")
            _settle_memory()

    async def reload_by_signal(self) -> None:
        """SIGUSR1: read the configuration again and replace the running one."""
        self.log.info("SIGUSR1: Reloading")
        try:
            corefile, digest = self.read()
        except CorefileError as exc:
            self.count_failure()
            self.log.error(f"SIGUSR1: loading updated Caddyfile: {exc}")
            return
        try:
            await self.reload(corefile, digest)
        except Exception as exc:
            self.count_failure()
            self.log.error(f"SIGUSR1: starting with listener file descriptors: {exc}")

    async def reload_by_change(self) -> bool:
        """The reload plugin saw another token tree. True if it runs now."""
        try:
            corefile, digest = self.read()
            await self.reload(corefile, digest)
        except Exception as exc:
            self.count_failure()
            self.log.for_plugin("reload").error(f"Corefile changed but reload failed: {exc}")
            self._version.family.clear()
            self._version.labels("sha512", self.instance.digest if self.instance else "").set(1)
            return False
        self._version.family.clear()
        self._version.labels("sha512", digest).set(1)
        return True

    def count_failure(self) -> None:
        """A new configuration could not be loaded."""
        self._failed.inc()

    async def stop(self, *, graceful: bool) -> None:
        """The last hooks while DNS is served, then (graceful) every query that arrived is answered."""
        if self.instance is None:
            return
        await self.instance.finish()
        if graceful:
            await self.instance.stop()

    def _say_digest(self, instance: Instance) -> None:
        if instance.reload_every is not None:
            self.log.for_plugin("reload").info(f"Running configuration SHA512 = {instance.digest}")


class Anything:
    """Contains every directive: whether they exist is asked when a configuration is loaded, not when it is compared."""

    def __contains__(self, name: object) -> bool:
        return True


def read_corefile(source: Source, port: str, known: Container[str]) -> tuple[Corefile, str]:
    """Read and parse a configuration; one without blocks is the built-in one. Raises CorefileError."""
    reader = OsReader()
    text = source.read(port)
    corefile = parse(text, source.name, env=os.environ, known=known, read=reader)
    if not corefile.blocks:
        corefile = parse(built_in(port), source.name, env=os.environ, known=known, read=reader)
    tree = [
        [list(block.labels), [[directive.name, list(directive.tokens)] for directive in block.directives]]
        for block in corefile.blocks
    ]
    return corefile, hashlib.sha512(json.dumps(tree).encode()).hexdigest()


def _settle_memory() -> None:
    """What was loaded stays: take it out of the collector's sight, so that its pauses stay short."""
    gc.collect()
    gc.freeze()
