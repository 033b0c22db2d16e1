"""etcd's API over its JSON gateway (etcd 3.4 and later): ranges of keys, leases, and tokens for those who need one."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeVar

import msgspec

from waypost.toolkit.http_api import Answer, ApiError, HttpApi

T = TypeVar("T")

_UNAUTHORIZED: Final = 401
# Users or roles were changed since the token was given out.
_OLD_REVISION: Final = b"revision of auth store is old"
# Seconds for which a refused password is not tried again: checking one costs etcd much.
_REFUSED_FOR: Final = 5.0


class Pair(msgspec.Struct, frozen=True):
    """A key and its value, and the lease that it lives by (0: none)."""

    key: bytes
    value: bytes = b""
    lease: int = 0


class _Range(msgspec.Struct):
    kvs: tuple[Pair, ...] = ()


class _Lease(msgspec.Struct):
    ttl: int = msgspec.field(name="TTL", default=0)


class _Token(msgspec.Struct):
    token: str


class _Status(msgspec.Struct):
    message: str = ""
    error: str = ""


class Credentials(NamedTuple):
    """A user of etcd."""

    name: str
    password: str


class Gateway:
    """Asks etcd; every method raises ApiError."""

    __slots__ = ("_api", "_clock", "_credentials", "_lock", "_refusal", "_refused_at", "_token")

    def __init__(self, api: HttpApi, credentials: Credentials | None, clock: Callable[[], float]) -> None:
        """`clock` gives seconds."""
        self._api = api
        self._credentials = credentials
        self._clock = clock
        self._lock = asyncio.Lock()
        self._token = ""
        self._refusal = ""
        self._refused_at = 0.0

    async def below(self, key: bytes, limit: int = 0) -> tuple[Pair, ...]:
        """The pairs whose keys begin with `key` and a slash, in their order; at most `limit` if it is given."""
        return await self._range({"key": _base64(key + b"/"), "range_end": _base64(key + b"0"), "limit": limit})

    async def at(self, key: bytes) -> tuple[Pair, ...]:
        """The pair with this key, if there is one."""
        return await self._range({"key": _base64(key)})

    async def lease_ttl(self, lease: int) -> int:
        """Seconds until a lease ends, below 1 if it has."""
        return (await self._call("/v3/lease/timetolive", {"ID": lease}, _Lease)).ttl

    async def _range(self, request: Mapping[str, object]) -> tuple[Pair, ...]:
        return (await self._call("/v3/kv/range", request, _Range)).kvs

    async def _call(self, target: str, request: Mapping[str, object], kind: type[T]) -> T:
        token = await self._present_token()
        answer = await self._post(target, request, token)
        if token and (answer.status == _UNAUTHORIZED or _OLD_REVISION in answer.body):
            if self._token == token:
                self._token = ""
            answer = await self._post(target, request, await self._present_token())
        return _decoded(target, answer, kind)

    async def _post(self, target: str, request: Mapping[str, object], token: str = "") -> Answer:
        headers = {"Authorization": token} if token else {}
        return await self._api.request("POST", target, body=msgspec.json.encode(request), headers=headers)

    async def _present_token(self) -> str:
        """A token if there are credentials. Those who need one at the same time wait for one of them to fetch it."""
        if self._credentials is None:
            return ""
        async with self._lock:
            if not self._token:
                if self._refusal and self._clock() - self._refused_at < _REFUSED_FOR:
                    raise ApiError(self._refusal)
                self._token = await self._authenticate(self._credentials)
            return self._token

    async def _authenticate(self, credentials: Credentials) -> str:
        target = "/v3/auth/authenticate"
        answer = await self._post(target, credentials._asdict())
        try:
            token = _decoded(target, answer, _Token).token
        except ApiError as exc:
            self._refusal, self._refused_at = str(exc), self._clock()
            raise
        self._refusal = ""
        return token


def _decoded(target: str, answer: Answer, kind: type[T]) -> T:
    if answer.status != 200:
        raise ApiError(f"{target}: {_complaint(answer)}")
    try:
        # Numbers of 64 bits are text in this form of JSON.
        return msgspec.json.decode(answer.body, type=kind, strict=False)
    except msgspec.DecodeError as exc:
        raise ApiError(f"{target}: {exc}") from exc


def _complaint(answer: Answer) -> str:
    try:
        status = msgspec.json.decode(answer.body, type=_Status)
    except msgspec.DecodeError:
        status = _Status()
    return status.message or status.error or f"status {answer.status}: {answer.excerpt}"


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
