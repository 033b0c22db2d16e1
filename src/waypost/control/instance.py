"""One configuration from start to stop: its plan, its hooks, its share of what is lent, its sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum

from waypost.control.build import Plan
from waypost.control.lender import Lease
from waypost.control.outlets import Outlet
from waypost.dispatch.site import Hook, Hooks, Placed

_DRAIN_SECONDS = 5.0
_HOOK_SECONDS = 5.0


class Role(Enum):
    """A process's part: all there is; above workers, without queries of its own; or one of those workers."""

    WHOLE = "whole"
    SUPERVISOR = "supervisor"
    WORKER = "worker"

    def hooks(self, hooks: Sequence[Hook]) -> list[Hook]:
        """Those that run in such a process."""
        if self is Role.WHOLE:
            return list(hooks)
        if self is Role.SUPERVISOR:
            return list(filter(_placed, hooks))
        return [hook for hook in hooks if not (isinstance(hook, Placed) and hook.alone)]


def _placed(hook: Hook) -> bool:
    return isinstance(hook, Placed)


class Instance:
    """A configuration that runs. `digest` is the SHA-512 of its token tree; `built_in` says that it is no file's.

    `lease` holds what its plugins were lent; `outlet` its sockets, which are given back first.
    """

    def __init__(self, plan: Plan, hooks: Hooks, lease: Lease, outlet: Outlet, digest: str) -> None:
        self.plan = plan
        self.hooks = hooks
        self.digest = digest
        self.built_in = False
        self.reload_every: tuple[float, float] | None = None
        self.outlet = outlet
        self._role = Role.WHOLE
        self._lease = lease

    def assume(self, role: Role, outlet: Outlet) -> None:
        """Be a process's part of the configuration, before it is started there."""
        self._role = role
        self.outlet = outlet

    @property
    def debugging(self) -> bool:
        """True if a listener has `debug`: a fault of a plugin there ends the process."""
        return any(server.debug for server in self.plan.servers.values())

    async def start(self) -> None:
        """Run the start hooks and get the sockets; on any error everything is given back and the error goes on."""
        try:
            await run_hooks(self._role.hooks(self.hooks.start))
            self.outlet.open()
        except BaseException:
            with suppress(Exception):
                await self.stop()
            raise

    async def activate(self) -> None:
        """From here on this configuration answers; the listeners may have been an older one's until now."""
        await self.outlet.serve()
        await run_hooks(self._role.hooks(self.hooks.active))

    async def finish(self) -> None:
        """The last hooks, while DNS is still served (lameduck); not in workers, for they run once."""
        await run_hooks(self.hooks.final)

    async def stop(self) -> None:
        """Take no more queries, let those that wait finish, run the stop hooks, give back what was lent.

        Every step has its time; the first error goes on once all are done.
        """
        try:
            await asyncio.gather(self.outlet.close(), self._drain())
            await run_hooks(self._role.hooks(self.hooks.stop), _HOOK_SECONDS)
        finally:
            await self._lease.release()

    async def _drain(self) -> None:
        """Wait for queries on listeners that have gone to a newer configuration."""
        await asyncio.gather(*(server.waiting.ended(_DRAIN_SECONDS) for server in self.plan.servers.values()))


async def run_hooks(hooks: Sequence[Hook], seconds: float | None = None) -> None:
    """Run hooks together, no longer than this; the first error goes on once all have ended."""
    if not hooks:
        return
    tasks = [asyncio.create_task(_run(hook)) for hook in hooks]
    try:
        _, late = await asyncio.wait(tasks, timeout=seconds)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
    for task in late:
        task.cancel()
    errors = [exc for task in tasks if task not in late and (exc := task.exception()) is not None]
    if late:
        errors.append(TimeoutError(f"{len(late)} plugins did not stop within {seconds:g} s"))
    if errors:
        raise errors[0]


async def _run(hook: Hook) -> None:
    waiting = hook()
    if waiting is not None:
        await waiting
