"""Nomad's list of services over its HTTP API, and whether the API can be reached."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from waypost.log import Log
from waypost.toolkit.background import Background
from waypost.toolkit.http_api import ApiError, HttpApi
from waypost.wire import addr

_RETRY: Final = 1.0
_OK: Final = 200
_NOT_FOUND: Final = 404


class _Registration(msgspec.Struct):
    address: str = msgspec.field(name="Address", default="")
    port: int = msgspec.field(name="Port", default=0)


class Instance(NamedTuple):
    """One instance of a service: its packed address and its port."""

    address: bytes
    port: int


class Catalogue:
    """Asks Nomad anew for every question. `start` and `close` it in a running event loop."""

    __slots__ = ("_api", "_log", "_lost", "_parameters", "_sleep", "_work")

    def __init__(
        self,
        api: HttpApi,
        parameters: str,
        log: Log,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`parameters` follow the namespace in the query of each request, encoded, each with its `&`."""
        self._api = api
        self._parameters = parameters
        self._log = log
        self._sleep = sleep
        self._lost = asyncio.Event()
        self._lost.set()
        self._work = Background()

    @property
    def connected(self) -> bool:
        """True if Nomad answered when it was asked last."""
        return not self._lost.is_set()

    def start(self) -> None:
        """Look for Nomad, now and whenever it was lost."""
        self._api.open()
        self._work.start(self._look)

    async def close(self) -> None:
        """End every request."""
        await self._work.stop()
        await self._api.close()

    async def instances(self, service: str, namespace: str) -> list[Instance] | None:
        """Those of a service that have an IP address, each once; None if it has none at all. Raises ApiError."""
        target = f"/v1/service/{quote(service, safe='')}?namespace={quote(namespace, safe='')}{self._parameters}"
        try:
            answer = await self._api.request("GET", target)
        except ApiError:
            self._lost.set()
            raise
        self._lost.clear()
        if answer.status == _NOT_FOUND:
            return None
        if answer.status != _OK:
            raise ApiError(f'GET "{target}": status {answer.status}: {answer.excerpt}')
        try:
            found = msgspec.json.decode(answer.body, type=list[_Registration] | None)
        except msgspec.DecodeError as exc:
            raise ApiError(f'GET "{target}": {exc}') from exc
        return _instances(found) if found else None

    async def _look(self) -> None:
        while True:
            await self._lost.wait()
            try:
                await self._api.request("GET", "/v1/agent/self")
            except ApiError as exc:
                self._log.once_a_burst(self._log.warning, f"no Nomad client available: {exc}")
                await self._sleep(_RETRY)
            else:
                self._lost.clear()


def _instances(registrations: list[_Registration]) -> list[Instance]:
    found: dict[Instance, None] = {}
    for registration in registrations:
        packed = addr.pack(registration.address)
        if packed is not None and 0 <= registration.port <= 0xFFFF:
            found[Instance(packed, registration.port)] = None
    return list(found)
