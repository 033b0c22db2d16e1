"""What needs no process: pauses, words, hooks by role, the numbers of sockets."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from waypost.control.build import Endpoint, Plan
from waypost.control.crew import pause
from waypost.control.fork import Threads
from waypost.control.instance import Role
from waypost.control.member import said
from waypost.control.outlets import sockets_of
from waypost.dispatch.site import everywhere, once


def test_pauses_grow_up_to_half_a_minute() -> None:
    assert [pause(early) for early in (0, 1, 2, 3, 6, 7, 8, 100)] == [0.0, 0.5, 1.0, 2.0, 16.0, 30.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("code", "words"),
    [(0, "exit code 0"), (70, "exit code 70"), (-signal.SIGKILL, "signal SIGKILL"), (-99, "signal 99")],
)
def test_how_a_process_ended(code: int, words: str) -> None:
    assert said(code) == words


def test_which_hooks_run_where() -> None:
    ran: list[str] = []
    hooks = [
        lambda: ran.append("plain"),
        everywhere(lambda: ran.append("everywhere")),
        once(lambda: ran.append("once")),
    ]
    found = {}
    for role in Role:
        ran.clear()
        for hook in role.hooks(hooks):
            hook()
        found[role] = list(ran)
    assert found == {
        Role.WHOLE: ["plain", "everywhere", "once"],
        Role.SUPERVISOR: ["everywhere", "once"],
        Role.WORKER: ["plain", "everywhere"],
    }


def test_every_socket_has_its_number() -> None:
    plain, quic = Endpoint("dns", "127.0.0.1", "53"), Endpoint("quic", "::1", "853")
    plan = Plan(sockets={plain: 2, quic: 1})
    keys = [(endpoint.scheme, key.datagram, key.number) for endpoint, key in sockets_of(plan)]
    assert keys == [("dns", True, 0), ("dns", False, 0), ("dns", True, 1), ("dns", False, 1), ("quic", True, 0)]
    assert plan.workers == 2
    assert Plan().workers == 1


async def test_an_act_alone_waits_for_helpers() -> None:
    threads = Threads()
    release = threading.Event()
    helping = asyncio.create_task(asyncio.to_thread(release.wait))
    seen: list[int] = []
    acting = asyncio.create_task(threads.alone(lambda: seen.append(threading.active_count())))
    for _ in range(20):
        await asyncio.sleep(0)
    assert seen == []
    release.set()
    await asyncio.gather(helping, acting)
    assert seen == [1]
    assert await asyncio.to_thread(lambda: 7) == 7  # helpers come again


async def test_what_goes_wrong_in_an_act_is_raised() -> None:
    def fails() -> None:
        raise OSError("no process left")

    with pytest.raises(OSError, match="no process left"):
        await Threads().alone(fails)
