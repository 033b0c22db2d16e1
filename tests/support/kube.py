"""What tests of the API client share: a recording sink and log, and replays of recorded answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

RECORDINGS = Path(__file__).parents[1] / "data" / "kube-api"


class MemorySink:
    """Keeps objects by (namespace, name), as the index does: laid over, removed at the end of a list."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], object] = {}
        self.calls: list[str] = []
        self.smallest: int | None = None
        self._seen: set[tuple[str, str]] = set()

    def begin_list(self) -> None:
        self.calls.append("begin")
        self._seen = set()

    def listed(self, obj) -> None:
        key = (obj.metadata.namespace, obj.metadata.name)
        self._seen.add(key)
        self.objects[key] = obj

    def end_list(self) -> None:
        self.calls.append("end")
        for key in self.objects.keys() - self._seen:
            del self.objects[key]

    def abort_list(self) -> None:
        self.calls.append("abort")

    def changed(self, obj) -> None:
        key = (obj.metadata.namespace, obj.metadata.name)
        self.calls.append(f"changed {key[1]}")
        self._seen.add(key)
        self.objects[key] = obj

    def removed(self, namespace: str, name: str) -> None:
        self.calls.append(f"removed {name}")
        self.objects.pop((namespace, name), None)

    def names(self) -> set[str]:
        return {name for _, name in self.objects}


class MemoryLog:
    """Keeps what was logged."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.infos: list[str] = []

    def error(self, text: str) -> None:
        self.errors.append(text)

    def info(self, text: str) -> None:
        self.infos.append(text)


class Recording(NamedTuple):
    """A recorded answer: HTTP status and body."""

    status: int
    body: bytes


def recording(name: str) -> Recording:
    """The recording tests/data/kube-api/NAME.http."""
    head, _, body = (RECORDINGS / f"{name}.http").read_bytes().partition(b"\n\n")
    return Recording(int(head.splitlines()[1].split()[1]), body)


Answer = bytes | Exception


class ScriptedClient:
    """An ApiClient that gives prepared answers, in order; then it is silent for ever. Keeps what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, str]] = []
        self.exhausted = asyncio.Event()

    async def get_json_bytes(self, path: str, params: Mapping[str, str]) -> bytes:
        return await self._next(path, params)

    @asynccontextmanager
    async def stream_lines(self, path: str, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        body = await self._next(path, params)

        async def lines() -> AsyncIterator[bytes]:
            for line in filter(None, body.splitlines()):
                if line == b"SILENCE":
                    await asyncio.Event().wait()
                yield line

        stream = lines()
        try:
            yield stream
        finally:
            await stream.aclose()

    async def _next(self, path: str, params: Mapping[str, str]) -> bytes:
        self.asked.append({"path": path, **params})
        if not self.answers:
            self.exhausted.set()
            await asyncio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


async def eventually(condition: Callable[[], object], seconds: float = 10.0) -> None:
    """Returns when `condition` holds; fails after `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in another thread
            await asyncio.sleep(0.005)
