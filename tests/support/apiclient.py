"""A client that changes a cluster through the API."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any, Self

import aiohttp

from support.apistore import KINDS, PLURAL, Json


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    """Where the objects of a kind are, or one of them."""
    plural = PLURAL[kind]
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{KINDS[plural].prefix}{scope}/{plural}" + (f"/{name}" if name else "")


def path_to(obj: Json, *, create: bool = False) -> str:
    """Where this object is, or where it is sent to be created."""
    meta = obj["metadata"]
    return path_of(obj["kind"], meta.get("namespace", ""), "" if create else meta["name"])


_TRIES = 20


class ApiClient:
    """Use it as an async context manager; every method fails if the API server says no.

    While it has no time (5xx), as in its first seconds, it is asked again after `pause` seconds.
    """

    def __init__(self, url: str, token: str, tls: ssl.SSLContext | None = None, pause: float = 0.5) -> None:
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"}
        self._tls: ssl.SSLContext | bool = tls if tls is not None else True
        self._pause = pause
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(force_close=True)  # the API server may be another one by the next request
        self._session = aiohttp.ClientSession(self._url, headers=self._headers, connector=connector)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._session is not None
        await self._session.close()

    async def create(self, obj: Json) -> Json:
        """Create it; gives it as the API server completed it."""
        return await self._ask("POST", path_to(obj, create=True), _versioned(obj))

    async def patch(self, obj: Json, change: Json) -> Json:
        """Merge `change` into an object (RFC 7396)."""
        return await self._ask("PATCH", path_to(obj), change, "application/merge-patch+json")

    async def delete(self, obj: Json) -> None:
        """Delete an object."""
        await self._ask("DELETE", path_to(obj))

    async def version(self, kind: str) -> str:
        """The present resource version of a kind."""
        found = await self._ask("GET", f"{path_of(kind)}?limit=1")
        return str(found["metadata"]["resourceVersion"])

    async def watch_code(self, kind: str, version: str) -> int:
        """The code with which a watch from this version begins: 200 for an event, else that of the error."""
        assert self._session is not None
        url = f"{path_of(kind)}?watch=1&timeoutSeconds=1&resourceVersion={version}"
        async with self._session.get(url, ssl=self._tls) as response:
            line = await response.content.readline()
            event = json.loads(line) if line else {}
            if response.status != 200 or event.get("type") != "ERROR":
                return response.status
            return int(event["object"]["code"])

    async def _ask(self, method: str, path: str, body: Json | None = None, kind: str = "application/json") -> Any:
        assert self._session is not None
        data = json.dumps(body) if body is not None else None
        headers = {"Content-Type": kind} if body is not None else {}
        status, text = 0, ""
        for _ in range(_TRIES):
            async with self._session.request(method, path, data=data, headers=headers, ssl=self._tls) as response:
                status, text = response.status, await response.text()
            if status < 500:
                break
            await asyncio.sleep(self._pause)
        assert status < 300, f"{method} {path}: {status} {text}"
        return json.loads(text)


def _versioned(obj: Json) -> Json:
    return {"apiVersion": KINDS[PLURAL[obj["kind"]]].version, **obj}
