"""Hooks, lent objects, and what a replaced configuration leaves behind: nothing."""

from __future__ import annotations

import asyncio
import io
import weakref
from pathlib import Path

import pytest

from waypost.control.files import Source
from waypost.control.instance import Instance, run_hooks
from waypost.control.lender import Lease, Pool
from waypost.control.supervisor import Settings, Supervisor
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import Handler
from waypost.log import Log

COREFILE = ".:0 {{\n    bind 127.0.0.1\n    errors\n    log\n    cache {}\n    erratic\n}}\n"


class Lent:
    def __init__(self, *, fails: bool = False) -> None:
        self.closed = 0
        self._fails = fails

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed += 1
        if self._fails:
            raise OSError("cannot close")


class TestHooks:
    async def test_all_run_and_the_first_error_goes_on(self) -> None:
        ran: list[str] = []

        async def waits() -> None:
            await asyncio.sleep(0)
            ran.append("waits")

        def fails() -> None:
            ran.append("fails")
            raise ValueError("first")

        async def fails_later() -> None:
            await asyncio.sleep(0)
            raise ValueError("second")

        with pytest.raises(ValueError, match="first"):
            await run_hooks([waits, fails, fails_later, lambda: ran.append("last")])
        assert ran == ["fails", "last", "waits"]

    async def test_one_that_does_not_end(self) -> None:
        ran: list[str] = []

        async def hangs() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ran.append("cancelled")

        with pytest.raises(TimeoutError, match=r"1 plugins did not stop within 0\.01 s"):
            await run_hooks([hangs, lambda: ran.append("other")], 0.01)
        await asyncio.sleep(0)
        assert ran == ["other", "cancelled"]

    async def test_giving_up_ends_them(self) -> None:
        ended: list[str] = []

        async def hangs() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("ended")

        task = asyncio.create_task(run_hooks([hangs, hangs]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["ended", "ended"]


class TestLease:
    async def test_closed_by_the_last_holder(self) -> None:
        pool = Pool()
        old, new = Lease(pool), Lease(pool)
        lent = old.lend("key", Lent)
        assert old.lend("key", Lent) is lent
        assert new.lend("key", Lent) is lent
        await old.release()
        assert lent.closed == 0
        await new.release()
        assert lent.closed == 1
        assert not pool.entries
        assert Lease(pool).lend("key", Lent) is not lent

    async def test_one_that_cannot_be_closed_does_not_keep_the_others(self) -> None:
        lease = Lease(Pool())
        others = [lease.lend(1, Lent), lease.lend(2, lambda: Lent(fails=True)), lease.lend(3, Lent)]
        with pytest.raises(OSError, match="cannot close"):
            await lease.release()
        assert [lent.closed for lent in others] == [1, 1, 1]

    async def test_what_never_started_is_forgotten(self) -> None:
        pool = Pool()
        old, new = Lease(pool), Lease(pool)
        kept = old.lend("kept", Lent)
        new.lend("kept", Lent)
        forgotten = new.lend("new", Lent)
        new.forget()
        assert list(pool.entries) == ["kept"]
        assert (kept.closed, forgotten.closed) == (0, 0)


def handler_of(instance: Instance) -> weakref.ref[Handler]:
    """A plugin of it: these are in cycles with their block, and go only by garbage collection."""
    return weakref.ref(instance.plan.sites[0].handlers["erratic"][0])


class TestSupervisor:
    def make(self, tmp_path: Path, text: str) -> Supervisor:
        self.path = tmp_path / "Corefile"
        self.path.write_text(text)
        return Supervisor(Settings(Source(str(self.path))), Log(io.StringIO()), lambda _: None)

    async def test_a_replaced_configuration_is_freed(self, tmp_path: Path) -> None:
        supervisor = self.make(tmp_path, COREFILE.format(1))
        seen = [handler_of(await supervisor.start())]
        for seconds in range(2, 6):
            self.path.write_text(COREFILE.format(seconds))
            await supervisor.reload(*supervisor.read())
            assert supervisor.instance is not None
            seen.append(handler_of(supervisor.instance))
        assert [ref() is not None for ref in seen] == [False, False, False, False, True]
        await supervisor.stop(graceful=True)

    async def test_reloads_one_after_another(self, tmp_path: Path) -> None:
        supervisor = self.make(tmp_path, COREFILE.format(1))
        await supervisor.start()
        await asyncio.gather(*(supervisor.reload(*supervisor.read()) for _ in range(3)))
        await supervisor.stop(graceful=True)
        assert supervisor.instance is None

    async def test_nothing_is_replaced_once_it_stops(self, tmp_path: Path) -> None:
        supervisor = self.make(tmp_path, COREFILE.format(1))
        await supervisor.start()
        loaded = supervisor.read()
        stopping = asyncio.create_task(supervisor.stop(graceful=True))
        await asyncio.sleep(0)
        await supervisor.reload(*loaded)
        await stopping
        assert supervisor.instance is None

    async def test_an_empty_file_is_the_built_in_one_only_at_first(self, tmp_path: Path) -> None:
        supervisor = self.make(tmp_path, "# nothing yet\n")
        assert [directive.name for directive in supervisor.read()[0].blocks[0].directives] == ["whoami", "log"]
        self.path.write_text(COREFILE.format(1))
        await supervisor.start()
        self.path.write_text("")
        for read in (supervisor.read, supervisor.fingerprint):
            with pytest.raises(CorefileError, match="is missing or has no server block"):
                read()
        await supervisor.stop(graceful=True)
