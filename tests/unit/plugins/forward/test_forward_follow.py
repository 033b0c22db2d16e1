"""Files and host names among the TO arguments, over time."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from waypost.corefile.errors import CorefileError
from waypost.log import Log
from waypost.plugins.forward.follow import Follower
from waypost.plugins.forward.targets import parse_targets, tell_hosts
from waypost.toolkit.hostlookup import Found
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError


class FakeGroup:
    """Remembers the lists it was given."""

    def __init__(self, *ips: str) -> None:
        self.members = self._members(UpstreamAddress(ip, 53) for ip in ips)
        self.lists: list[list[str]] = []

    @staticmethod
    def _members(addresses: Any) -> list[Any]:
        return [SimpleNamespace(address=address) for address in addresses]

    def replace(self, addresses: list[UpstreamAddress]) -> None:
        self.lists.append([address.ip for address in addresses])
        self.members = self._members(addresses)


class Bench:
    """A follower on a clock that only its own pauses move. `script` are changes, one a pause; then it ends.

    `answers` says what a look-up of a host gives: addresses and a TTL, or an error. `asked` are look-ups with their
    times.
    """

    def __init__(self, group: FakeGroup, *texts: str, answers: dict[str, Found | str] | None = None) -> None:
        self.group = group
        self.answers = answers or {}
        self.asked: list[tuple[float, str]] = []
        self.time = 1000.0
        self.script: list[Callable[[], object]] = []
        self._stream = io.StringIO()
        self.follower = Follower(
            tell_hosts(parse_targets(texts)),
            cast(Any, group),
            lambda address: address,
            self._look_up,
            Log(self._stream),
            now=lambda: self.time,
            sleep=self._sleep,
        )

    async def run(self, *script: Callable[[], object]) -> list[str]:
        """Run through the script; gives the log lines."""
        self.script = list(script)
        with pytest.raises(asyncio.CancelledError):
            await self.follower.run()
        return self._stream.getvalue().splitlines()

    async def _sleep(self, seconds: float) -> None:
        assert seconds >= 0
        if not self.script:
            raise asyncio.CancelledError
        self.time += seconds
        self.script.pop(0)()

    async def _look_up(self, host: str) -> Found:
        self.asked.append((self.time - 1000, host))
        answer = self.answers[host]
        if isinstance(answer, str):
            raise UpstreamError(answer)
        return answer


def nothing() -> None:
    """A pause in which nothing changes."""


class Contents:
    """A file, and what it holds next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._modified = 0

    def then(self, content: str | None) -> Callable[[], None]:
        """A change to this content, None for no file."""

        def put() -> None:
            self._modified += 1
            if content is None:
                self.path.unlink()
            else:
                self.path.write_text(content)
                os.utime(self.path, ns=(self._modified, self._modified))

        return put


@pytest.fixture
def file(tmp_path: Path) -> Contents:
    contents = Contents(tmp_path / "resolv.conf")
    contents.then("nameserver 192.0.2.1\n")()
    return contents


async def test_changes_are_followed(file: Contents) -> None:
    bench = Bench(FakeGroup("192.0.2.1"), str(file.path))
    lines = await bench.run(
        file.then("nameserver 192.0.2.1\n# a comment changes nothing\n"),
        file.then("nameserver 192.0.2.2\nnameserver 192.0.2.3\n"),
        file.then("nameserver 192.0.2.3\n"),
    )
    assert bench.group.lists == [["192.0.2.2", "192.0.2.3"], ["192.0.2.3"]]
    assert lines == [
        "[INFO] upstreams are now 192.0.2.2:53, 192.0.2.3:53",
        "[INFO] upstreams are now 192.0.2.3:53",
    ]


async def test_change_between_setup_and_start_is_seen(file: Contents) -> None:
    bench = Bench(FakeGroup("192.0.2.9"), str(file.path))
    await bench.run()
    assert bench.group.lists == [["192.0.2.1"]]


async def test_list_never_becomes_empty(file: Contents) -> None:
    bench = Bench(FakeGroup("192.0.2.1"), str(file.path))
    many = "".join(f"nameserver 192.0.2.{n}\n" for n in range(20))
    changes = ["", None, "nameserver nonsense\n", many, "nameserver 192.0.2.1\n"]
    lines = await bench.run(*map(file.then, changes))
    assert bench.group.lists == []
    assert lines == [
        "[WARNING] upstreams stay as they are: no nameservers found",
        f'[WARNING] upstreams stay as they are: not an IP address or file: "{file.path}"',
        f"[WARNING] nameserver nonsense in {file.path} is not an IP address and is ignored",
        "[WARNING] upstreams stay as they are: more than 15 TOs configured: 20",
    ]


async def test_hosts_are_found_at_the_beginning() -> None:
    answers: dict[str, Found | str] = {
        "a.example": Found(("192.0.2.1", "2001:db8::1"), 60),
        "b.example": Found(("192.0.2.2",), 60),
    }
    bench = Bench(FakeGroup("192.0.2.9"), "a.example", "192.0.2.9", "tls://b.example", answers=answers)
    await bench.follower.begin()
    assert bench.group.lists == [["192.0.2.1", "2001:db8::1", "192.0.2.9", "192.0.2.2"]]
    last = bench.group.members[-1].address
    assert (last.scheme, last.port, last.server_name) == ("tls", 853, "b.example")


async def test_host_that_is_not_found_is_fatal_at_the_beginning() -> None:
    answers: dict[str, Found | str] = {"a.example": Found(("192.0.2.1",), 60), "b.example": "lookup b.example: why"}
    bench = Bench(FakeGroup(), "a.example", "b.example", answers=answers)
    with pytest.raises(CorefileError) as caught:
        await bench.follower.begin()
    assert str(caught.value) == 'plugin/forward: failed to resolve "b.example": lookup b.example: why'
    assert bench.group.lists == []


async def test_too_many_addresses_are_fatal_at_the_beginning() -> None:
    found = Found(tuple(f"192.0.2.{n}" for n in range(16)), 60)
    bench = Bench(FakeGroup(), "a.example", answers={"a.example": found})
    with pytest.raises(CorefileError, match=r"^plugin/forward: more than 15 TOs configured: 16$"):
        await bench.follower.begin()


@pytest.mark.parametrize(("ttl", "pause"), [(0, 5), (4, 5), (60, 60), (90000, 3600)])
async def test_hosts_are_asked_for_again_when_their_ttl_ends(ttl: int, pause: int) -> None:
    bench = Bench(FakeGroup(), "a.example", answers={"a.example": Found(("192.0.2.1",), ttl)})
    await bench.follower.begin()
    assert await bench.run(nothing, nothing) == []
    assert [time for time, _ in bench.asked] == [0, pause, 2 * pause]
    assert bench.group.lists == [["192.0.2.1"]]


async def test_new_addresses_are_taken() -> None:
    answers: dict[str, Found | str] = {"a.example": Found(("192.0.2.1",), 60), "b.example": Found(("192.0.2.2",), 90)}
    bench = Bench(FakeGroup(), "a.example", "b.example", answers=answers)
    await bench.follower.begin()
    lines = await bench.run(lambda: answers.update({"a.example": Found(("192.0.2.3",), 600)}), nothing)
    assert bench.asked[2:] == [(60, "a.example"), (90, "b.example")]
    assert bench.group.lists[1:] == [["192.0.2.3", "192.0.2.2"]]
    assert lines == ["[INFO] upstreams are now 192.0.2.3:53, 192.0.2.2:53"]


async def test_failing_look_up_changes_nothing_and_is_told_once() -> None:
    answers: dict[str, Found | str] = {"a.example": Found(("192.0.2.1",), 60)}
    bench = Bench(FakeGroup(), "a.example", answers=answers)
    await bench.follower.begin()
    lines = await bench.run(
        lambda: answers.update({"a.example": "lookup a.example: no such host"}),
        nothing,
        lambda: answers.update({"a.example": Found(("192.0.2.2",), 60)}),
        lambda: answers.update({"a.example": "i/o timeout"}),
    )
    assert [time for time, _ in bench.asked] == [0, 60, 65, 70, 130]
    assert bench.group.lists == [["192.0.2.1"], ["192.0.2.2"]]
    told = 'upstreams stay as they are: failed to resolve "a.example":'
    assert lines == [
        f"[WARNING] {told} lookup a.example: no such host",
        "[INFO] upstreams are now 192.0.2.2:53",
        f"[WARNING] {told} i/o timeout",
    ]


async def test_hosts_and_files_together(file: Contents) -> None:
    bench = Bench(FakeGroup(), str(file.path), "a.example", answers={"a.example": Found(("192.0.2.7",), 12)})
    await bench.follower.begin()
    await bench.run(nothing, file.then("nameserver 192.0.2.2\n"), nothing)
    assert [time for time, _ in bench.asked] == [0, 12]
    assert bench.group.lists == [["192.0.2.1", "192.0.2.7"], ["192.0.2.2", "192.0.2.7"]]
