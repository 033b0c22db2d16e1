"""The reload plugin's watch over the Corefile and its imports: parse again every so often, compare token trees."""

from __future__ import annotations

import asyncio
import random

from waypost.control.supervisor import Supervisor
from waypost.corefile.errors import CorefileError

_NOT_WATCHING_POLL = 1.0


async def watch_configuration(supervisor: Supervisor) -> None:
    """Run until cancelled. A configuration without `reload` is not watched."""
    log = supervisor.log.for_plugin("reload")
    tried = supervisor.instance.digest if supervisor.instance else ""
    complaint = ""
    while True:
        instance = supervisor.instance
        if instance is None or instance.reload_every is None:
            await asyncio.sleep(_NOT_WATCHING_POLL)
            continue
        every, jitter = instance.reload_every
        await asyncio.sleep(every + random.uniform(-jitter / 2, jitter / 2))
        if supervisor.instance is not instance:  # reloaded by a signal meanwhile
            tried = supervisor.instance.digest if supervisor.instance else ""
            continue
        try:
            digest = await asyncio.to_thread(supervisor.fingerprint)
        except CorefileError as exc:
            log.warning(f"Corefile parse failed: {exc}")
            if str(exc) != complaint:  # said at every look, counted once
                complaint = str(exc)
                supervisor.count_failure()
            continue
        complaint = ""
        if digest not in (instance.digest, tried):
            tried = digest
            await supervisor.reload_by_change()
        elif digest == instance.digest:
            tried = digest
