"""The life of the process: load a configuration, replace it by a new one, stop. No query is lost by any of them.

A reload builds and starts the whole new configuration beside the old one, on the same sockets; only when it stands do
the listeners hand their packets to it, and the old one stops after its last query. Whatever goes wrong before that
leaves the old one as it was.

With workers (`control.crew`) this process answers no query: it holds the sockets and decides, and they do the same.
"""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Container, Sequence
from contextlib import suppress

from waypost.control.catalogue import installed
from waypost.control.crew import Crew
from waypost.control.files import BUILT_IN_NAME, OsReader, Source, built_in
from waypost.control.fork import can_fork
from waypost.control.instance import Instance, Role
from waypost.control.lender import Lease
from waypost.control.outlets import Holding
from waypost.control.workshop import Settings as Settings
from waypost.control.workshop import Workshop
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile, Token
from waypost.corefile.parser import parse
from waypost.log import Log

# A query that waits for an upstream is a dozen objects, which go away by themselves. With Python's own thresholds (700,
# 10, 10) the collector would look at each of them several times meanwhile, which took half of the time of such a query.
_GC_THRESHOLDS = (20_000, 20, 20)


class Supervisor:
    """Holds the running configuration. `exit` is called with a code when a plugin wants the process to end."""

    def __init__(self, settings: Settings, log: Log, exit_process: Callable[[int], None]) -> None:
        """Raises CorefileError if a package adds a plugin that does not fit in."""
        self.settings = settings
        self.log = log
        self.catalogue = installed()
        self.instance: Instance | None = None
        self._workshop = Workshop(settings, log, self.catalogue, exit_process)
        self.metrics = self._workshop.metrics
        self._crew: Crew | None = None
        self._changing = asyncio.Lock()
        self._starting: asyncio.Task[None] | None = None
        self._stopping = False
        self._failed = self.metrics.counter(
            "coredns_reload_failed_total", "Counter of the number of failed reload attempts."
        ).labels()
        self._version = self.metrics.gauge(
            "coredns_reload_version_info", "A metric with a constant '1' value labeled by hash, and value.",
            ("hash", "value"),
        )  # fmt: skip

    def read(self) -> tuple[Corefile, str]:
        """Parse the configuration as it is now; gives it with the SHA-512 of its token tree. Raises CorefileError."""
        return self._read(self.catalogue.order)

    def fingerprint(self) -> str:
        """The SHA-512 of the configuration's tokens as they are now, whatever directives they name.

        Raises CorefileError when it cannot be parsed at all.
        """
        return self._read(Anything())[1]

    def _read(self, known: Container[str]) -> tuple[Corefile, str]:
        """A file that vanished, or was caught while it is rewritten, must not end in the built-in configuration."""
        may_be_empty = self.instance is None or self.instance.built_in
        return read_corefile(self.settings.source, self.settings.port, known, may_be_empty=may_be_empty)

    def prepare(self, corefile: Corefile, digest: str) -> Instance:
        """Set up a configuration without starting anything. Raises CorefileError."""
        return self._workshop.prepare(corefile, digest)

    async def start(self) -> Instance:
        """Load the first configuration, with workers if it asks for several. Raises CorefileError or OSError; nothing
        runs then."""
        corefile, digest = self.read()
        for warning in corefile.warnings:
            self.log.warning(warning)
        async with self._changing:
            instance = self.prepare(corefile, digest)
            if instance.plan.workers > 1 and can_fork():
                self._crew = Crew(self._workshop)
            await self._bring_up(instance, None)
            await self._take_over(instance)
            self.instance = instance
            self._say_digest(instance)
            if self._crew is None:
                _settle_memory()
            else:
                self._crew.settle()
            return instance

    async def reload(self, corefile: Corefile, digest: str) -> None:
        """Replace the running configuration. Raises what went wrong; the old one runs on then.

        Once the process is asked to stop nothing is replaced any more, and CancelledError ends what has begun.
        """
        async with self._changing:
            if self._stopping:
                return
            self.log.info("Reloading")
            await self._replace(corefile, digest)
            self.log.info("Reloading complete")
            if self._crew is None:
                _settle_memory()
            else:  # what workers share is not looked at
                gc.collect()

    async def _replace(self, corefile: Corefile, digest: str) -> None:
        try:
            new = self.prepare(corefile, digest)
            if self._crew is None and new.plan.workers > 1 and can_fork():
                self.log.warning("multisocket: there is one process until the next start, with several sockets")
            await self._bring_up(new, corefile)
        except Exception as exc:
            self.log.error(f"Restart failed: {exc}")
            raise
        old, self.instance = self.instance, new
        if self._crew is not None and old is not None:
            await old.outlet.close()  # what workers still have there they answer; the last one closes it
        steps: list[Callable[[], Awaitable[None]]] = [lambda: self._take_over(new)]
        if old is not None:
            steps.append(old.stop)
        for step in steps:
            try:
                await step()
            except Exception as exc:  # the new one serves: there is no way back
                self.log.error(f"Reloading: {exc}")
        if self._crew is not None:
            self._crew.settle()
        self._say_digest(new)

    async def _bring_up(self, instance: Instance, corefile: Corefile | None) -> None:
        """Start it, in every process; `stop` may cancel that. Without a Corefile it is the first one."""
        self._starting = asyncio.create_task(self._start(instance, corefile))
        try:
            await self._starting
        finally:
            self._starting = None

    async def _start(self, instance: Instance, corefile: Corefile | None) -> None:
        crew = self._crew
        if crew is None:
            await instance.start()
            return
        instance.assume(Role.SUPERVISOR, Holding(instance.plan, Lease(self._workshop.pool)))
        await instance.start()
        try:
            if corefile is None:
                _settle_memory()
            await crew.prepare(instance, corefile, instance.digest)
        except BaseException:
            with suppress(Exception):
                await instance.stop()
            raise

    async def _take_over(self, instance: Instance) -> None:
        """From here on it answers."""
        if self._crew is not None:
            await self._crew.commit()
        await instance.activate()

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

    @property
    def debugging(self) -> bool:
        """True if a listener has `debug`: a fault of a plugin there ends the process."""
        return self.instance is not None and self.instance.debugging

    def count_failure(self) -> None:
        """A new configuration could not be loaded."""
        self._failed.inc()

    async def stop(self, *, graceful: bool) -> None:
        """The last hooks while DNS is served, then (graceful) every query that arrived is answered.

        A configuration that is just starting is given up; one that has taken over is let finish that. Raises the error
        of a hook.
        """
        self._stopping = True
        if self._starting is not None:
            self._starting.cancel()
        async with self._changing:
            instance, self.instance = self.instance, None
            if instance is None:
                return
            try:
                await instance.finish()
            finally:
                if self._crew is not None:
                    await instance.outlet.close()
                    await self._crew.stop(graceful=graceful)
                if graceful:
                    await instance.stop()

    def _say_digest(self, instance: Instance) -> None:
        if instance.reload_every is not None:
            self.log.for_plugin("reload").info(f"Running configuration SHA512 = {instance.digest}")


class Anything:
    """Contains every directive: whether they exist is asked when a configuration is loaded, not when it is compared."""

    def __contains__(self, name: object) -> bool:
        return True


def read_corefile(
    source: Source, port: str, known: Container[str], *, may_be_empty: bool = True
) -> tuple[Corefile, str]:
    """Read and parse a configuration. One without blocks is the built-in one, or an error. Raises CorefileError."""
    reader = OsReader()
    corefile = parse(source.read(), source.name, env=os.environ, known=known, read=reader)
    if not corefile.blocks:
        if not may_be_empty:
            raise CorefileError.unlocated(f"{source.name} is missing or has no server block")
        corefile = parse(built_in(port), BUILT_IN_NAME, env=os.environ, known=known, read=reader)
    tree = [
        [_places(block.labels), [[directive.name, _places(directive.tokens)] for directive in block.directives]]
        for block in corefile.blocks
    ]
    return corefile, hashlib.sha512(json.dumps(tree).encode()).hexdigest()


def _places(tokens: Sequence[Token]) -> list[tuple[object, ...]]:
    """What of the tokens makes another configuration: all but the columns, so that indenting a line is no change."""
    return [token[:-1] for token in tokens]


def _settle_memory() -> None:
    """What was loaded stays: take it out of the collector's sight, so that its pauses stay short.

    What an earlier configuration left behind was out of its sight until now.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
