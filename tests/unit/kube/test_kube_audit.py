"""kube.audit: what the watch never told is found by a list, and what it tells meanwhile wins."""

from __future__ import annotations

import asyncio
from random import Random

import msgspec
import pytest

from support.kube import MemoryLog
from support.objects import service
from waypost.cluster.index import Index
from waypost.kube.audit import Auditor, AuditTiming
from waypost.kube.errors import ApiStatusError, ApiUnreachable
from waypost.kube.following import Counters
from waypost.kube.listwatch import SERVICES, ResourceDecoder


def body(version: int, token: str = "", **services: tuple[str, int]) -> bytes:
    """A page: services by name, with address and version."""
    items = [
        {
            "metadata": {"name": name, "namespace": "ns", "resourceVersion": str(number)},
            "spec": {"clusterIPs": [address]},
        }
        for name, (address, number) in services.items()
    ]
    meta = {"resourceVersion": str(version), "continue": token}
    return msgspec.json.encode({"kind": "ServiceList", "metadata": meta, "items": items})


class World:
    """An auditor that watches over a, b and c as of version 10. Its clock only moves by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pages: list[bytes | Exception] = []
        self.asked: list[dict[str, str]] = []
        self.sleeps: list[float] = []
        self.answer = asyncio.Event()
        self.answer.set()
        self.log, self.counters, self.index = MemoryLog(), Counters(), Index(lambda: 0.0)
        self.changes = 0
        self.index.subscribe(lambda keys: setattr(self, "changes", self.changes + 1))
        self.auditor = Auditor(
            SERVICES,
            self,
            ResourceDecoder(SERVICES),
            self.index.sinks["Service"],
            counters=self.counters,
            log=self.log,
            timing=AuditTiming(),
            changes=lambda: self.changes,
            clock=lambda: self.now,
            sleep=self.sleep,
            rng=Random(1),
        )
        self.auditor.begin_list()
        for name, address in (("a", "10.0.0.1"), ("b", "10.0.0.2"), ("c", "10.0.0.3")):
            self.auditor.listed(service(f"ns/{name}", address))
        self.auditor.end_list()
        self.auditor.reached(10)

    async def get_json_bytes(self, path: str, params: dict[str, str]) -> bytes:
        self.asked.append(dict(params))
        await self.answer.wait()
        page = self.pages.pop(0)
        if isinstance(page, Exception):
            raise page
        return page

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        await asyncio.sleep(0)

    async def audit(self, *pages: bytes | Exception, reached: int = 20) -> None:
        """Time passes, a bookmark comes, and an audit with it."""
        self.pages += pages
        self.now += 300.0
        self.auditor.reached(reached)
        await settle()

    def addresses(self) -> dict[str, str]:
        """What is served, by name."""
        return {
            key[1 : 1 + key[0]].decode(): ".".join(map(str, entry.addresses[0]))
            for key, entry in self.index.services.items()
        }


async def settle() -> None:
    for _ in range(40):
        await asyncio.sleep(0)


AS_IT_WAS = {"a": ("10.0.0.1", 1), "b": ("10.0.0.2", 2), "c": ("10.0.0.3", 3)}
KNOWN = {name: address for name, (address, _) in AS_IT_WAS.items()}


async def test_nothing_was_lost() -> None:
    world = World()
    await world.audit(body(20, **AS_IT_WAS))
    assert (world.counters.audits, world.counters.mended) == (1, 0)
    assert world.counters.last_sync == 300.0
    assert world.log.errors == []
    assert world.addresses() == KNOWN


async def test_lost_changes_of_every_kind_are_mended_and_said() -> None:
    """B63."""
    world = World()
    await world.audit(body(20, a=("10.0.0.9", 12), b=("10.0.0.2", 2), d=("10.0.0.4", 15)))
    assert world.addresses() == {"a": "10.0.0.9", "b": "10.0.0.2", "d": "10.0.0.4"}
    assert world.counters.mended == 3
    assert world.log.errors == ["*v1.Service: the watch lost changes of 3 objects; a list mended them"]


async def test_pages_are_read_slowly() -> None:
    world = World()
    await world.audit(body(20, "more", a=AS_IT_WAS["a"]), body(20, b=AS_IT_WAS["b"], c=AS_IT_WAS["c"]))
    assert world.asked == [{"limit": "500"}, {"limit": "500", "continue": "more"}]
    assert world.sleeps == [0.5]
    assert world.addresses() == KNOWN


async def test_what_the_watch_tells_meanwhile_wins() -> None:
    world = World()
    world.answer.clear()
    await world.audit(body(20, **AS_IT_WAS))
    world.auditor.changed(service("ns/a", "10.0.0.9"))
    world.auditor.removed("ns", "b")
    world.auditor.changed(service("ns/new", "10.0.0.5"))
    world.auditor.reached(23)
    world.answer.set()
    await settle()
    assert world.addresses() == {"a": "10.0.0.9", "c": "10.0.0.3", "new": "10.0.0.5"}
    assert (world.counters.audits, world.counters.mended) == (1, 0)


async def test_what_the_watch_has_not_reached_is_not_lost() -> None:
    world = World()
    await world.audit(body(30, **(AS_IT_WAS | {"a": ("10.0.0.9", 25)})))
    assert world.addresses()["a"] == "10.0.0.9"
    assert world.counters.mended == 0


async def test_a_deletion_that_the_watch_still_tells() -> None:
    world = World()
    tell = world.sleep

    async def sleep(seconds: float) -> None:
        await tell(seconds)
        world.auditor.removed("ns", "c")
        world.auditor.reached(30)

    world.auditor._sleep = sleep
    await world.audit(body(30, a=AS_IT_WAS["a"], b=AS_IT_WAS["b"]))
    assert world.addresses() == {"a": "10.0.0.1", "b": "10.0.0.2"}
    assert (world.counters.audits, world.counters.mended) == (1, 0)
    assert len(world.sleeps) == 1


async def test_a_watch_that_never_gets_there() -> None:
    """The list is right nevertheless, but nobody can say that something was lost."""
    world = World()
    await world.audit(body(30, a=AS_IT_WAS["a"]))
    assert world.addresses() == {"a": "10.0.0.1"}
    assert sum(world.sleeps) == pytest.approx(75.0)
    assert world.counters.mended == 0


async def test_a_server_that_lags_behind_is_not_believed() -> None:
    world = World()
    await world.audit(body(19))
    assert world.addresses() == KNOWN
    assert world.counters.audits == 0
    await world.audit(body(20, **AS_IT_WAS))
    assert world.counters.audits == 1


@pytest.mark.parametrize(
    "failure", [ApiUnreachable("cut"), ApiStatusError(410, "Expired", "cut"), b"<html/>"], ids=["cut", "410", "html"]
)
async def test_a_list_that_breaks_off_removes_nothing(failure: bytes | Exception) -> None:
    world = World()
    await world.audit(body(20, "more", a=("10.0.0.9", 12)), failure)
    assert world.addresses() == KNOWN | {"a": "10.0.0.9"}
    assert (world.counters.audits, world.counters.errors, world.counters.mended) == (0, 1, 1)
    assert world.log.infos[0].startswith("*v1.Service could not be compared with a list: ")
    world.auditor.changed(service("ns/d", "10.0.0.4"))
    await world.audit(body(20, d=("10.0.0.4", 13)))
    assert world.addresses() == {"d": "10.0.0.4"}


async def test_a_list_of_the_reflector_ends_the_audit() -> None:
    world = World()
    world.answer.clear()
    await world.audit(body(20, **AS_IT_WAS))
    world.auditor.begin_list()
    world.auditor.listed(service("ns/z", "10.0.0.26"))
    world.answer.set()
    await settle()
    world.auditor.end_list()
    assert world.addresses() == {"z": "10.0.0.26"}
    assert world.counters.audits == 0


async def test_when_it_is_due() -> None:
    world = World()
    world.now = 239.0
    world.auditor.reached(20)
    await settle()
    assert world.asked == []
    await world.audit(body(20, **AS_IT_WAS))
    assert len(world.asked) == 1
    world.auditor.begin_list()
    for number in range(10_000):
        world.auditor.listed(service(f"ns/{number}", "10.0.0.1"))
    world.auditor.end_list()
    world.now += 799.0
    world.auditor.reached(30)
    await settle()
    assert len(world.asked) == 1, "ten objects a second: a thousand seconds, less a fifth at most"
    world.pages.append(b"")
    world.now += 201.0
    world.auditor.reached(31)
    await settle()
    assert len(world.asked) == 2
