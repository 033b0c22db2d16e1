"""An etcd that holds a few keys, behind its JSON gateway."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from support.http_script import Asked, HttpScript, as_json


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


class FakeEtcd:
    """`pairs` are values by key, `lease_of` leases by key, `leases` their seconds; `fault` is an answer to everything.

    With `users` (name to password) it wants tokens, of which `tokens` are valid.
    """

    def __init__(self, pairs: Mapping[str, Any] | None = None) -> None:
        self.pairs: dict[str, str] = {}
        for key, value in (pairs or {}).items():
            self.put(key, value)
        self.lease_of: dict[str, int] = {}
        self.leases: dict[int, int] = {}
        self.users: dict[str, str] = {}
        self.tokens: set[str] = set()
        self.issued = 0
        self.fault: web.Response | None = None
        self.reads: list[str] = []

    def put(self, key: str, value: Any) -> None:
        """A value as JSON, or the text itself."""
        self.pairs[key] = value if isinstance(value, str) else json.dumps(value)

    def serving(self, **how: Any) -> HttpScript:
        """A server with this content."""
        return HttpScript(self.answer, **how)

    def answer(self, asked: Asked) -> web.Response:
        if self.fault is not None:
            return web.Response(status=self.fault.status, body=self.fault.body)
        request = asked.json()
        if asked.path == "/v3/auth/authenticate":
            return self._authenticate(request)
        if self.users:
            token = asked.headers.get("Authorization")
            if token is None:
                return refusal(400, 3, "etcdserver: user name is empty")
            if token not in self.tokens:
                return refusal(401, 16, "etcdserver: invalid auth token")
        if asked.path == "/v3/kv/range":
            return self._range(request)
        assert asked.path == "/v3/lease/timetolive"
        return as_json({"ID": str(request["ID"]), "TTL": str(self.leases.get(request["ID"], -1)), "grantedTTL": "60"})

    def _authenticate(self, request: Any) -> web.Response:
        if self.users.get(request["name"]) != request["password"]:
            return refusal(400, 3, "etcdserver: authentication failed, invalid user ID or password")
        self.issued += 1
        token = f"token.{self.issued}"
        self.tokens.add(token)
        return as_json({"header": {}, "token": token})

    def _range(self, request: Any) -> web.Response:
        first, end = b64decode(request["key"]), b64decode(request.get("range_end", ""))
        self.reads.append(first.decode())
        keys = sorted(key for key in self.pairs if (first <= key.encode() < end if end else key.encode() == first))
        keys = keys[: request.get("limit") or None]
        kvs = [
            {"key": encoded(key.encode()), "value": encoded(self.pairs[key].encode()), "version": "1"}
            | ({"lease": str(self.lease_of[key])} if key in self.lease_of else {})
            for key in keys
        ]
        # The gateway leaves out what is empty.
        return as_json({"header": {"revision": "7"}} | ({"kvs": kvs, "count": str(len(kvs))} if kvs else {}))


def refusal(status: int, code: int, text: str) -> web.Response:
    """What the gateway makes of an error of gRPC."""
    return as_json({"error": text, "code": code, "message": text}, status)
