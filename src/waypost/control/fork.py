"""Forking a worker out of a process with a running event loop.

The child must not touch what it shares with the parent: neither the loop, whose epoll set is the parent's too, nor
connections and listeners. It leaves the objects as they are and points their descriptors at `/dev/null`, so that
nothing which closes them late can hit a descriptor of its own. It never returns through the parent's frames.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_SIGNALS: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_POLL: Final = 0.002
_STANDARD: Final = 3


def can_fork() -> bool:
    """True on Linux, where the kernel spreads clients over sockets and ends a child with its parent."""
    return sys.platform == "linux"


class Threads:
    """The helper threads of a loop, which can be made to end. To be made in the running loop."""

    def __init__(self) -> None:
        self._executor = _fresh_executor()

    async def alone(self, act: Callable[[], None]) -> None:
        """Call `act` between two callbacks, with no task running and no thread but this one.

        What helpers have begun is finished before. Raises what `act` raises.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        while not done.done():
            while threading.active_count() > 1:
                old, self._executor = self._executor, _fresh_executor()
                old.shutdown(wait=False)
                await asyncio.sleep(_POLL)
            loop.call_soon(_act_alone, act, done)
            await asyncio.sleep(0)
        await done


def _act_alone(act: Callable[[], None], done: asyncio.Future[None]) -> None:
    if done.done() or threading.active_count() > 1:  # nobody wants it any more, or one has begun just now
        return
    try:
        act()
    except Exception as exc:
        done.set_exception(exc)
    else:
        done.set_result(None)


def _fresh_executor() -> ThreadPoolExecutor:
    executor = ThreadPoolExecutor()
    asyncio.get_running_loop().set_default_executor(executor)
    return executor


def fork(run: Callable[[], int], keep: Collection[int]) -> int:
    """A child that runs `run` and exits with the code it gives; gives its process id.

    Of the descriptors above standard error it has those in `keep`. It ignores the signals that tell a server something,
    and is killed when the parent ends.
    """
    gc.collect()
    gc.freeze()  # what is there stays shared: no collection in the child looks at it
    parent = os.getpid()
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        pid = os.fork()
        if pid == 0:
            _child(run, keep, parent, prctl)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _child(run: Callable[[], int], keep: Collection[int], parent: int, prctl: Callable[..., int]) -> NoReturn:
    code = 70
    try:
        signal.set_wakeup_fd(-1)
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before that
            os._exit(0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        blind(keep)
        code = run()
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                continue
        os._exit(code)


def blind(keep: Collection[int]) -> None:
    """Point every descriptor above standard error at `/dev/null`, but these."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number >= _STANDARD and number != nowhere and number not in keep:
            try:
                os.fstat(number)
            except OSError:  # the listing's own
                continue
            os.dup2(nowhere, number, inheritable=False)
    os.close(nowhere)


async def exit_code(pid: int, patience: float) -> int:
    """How a child that is about to end has ended, as `os.waitstatus_to_exitcode` has it.

    It is killed after `patience` seconds.
    """
    deadline = time.monotonic() + patience
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)  # noqa: ASYNC222  # it does not wait
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
        await asyncio.sleep(_POLL)
