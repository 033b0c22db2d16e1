"""Who we are to the API server, request by request: bearer token, token file, basic, exec plugin, certificates."""

from __future__ import annotations

import base64
import os
import ssl
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from waypost.kube.config import ClusterAccess, os_error_text
from waypost.kube.errors import ClusterError
from waypost.kube.execplugin import Credential, ExecPlugin
from waypost.kube.tls import FileMark, TlsContexts, file_mark

REREAD_AFTER = 60.0
"""Seconds after which a token file is read again even if it looks unchanged (client-go's minute)."""


class Grant(NamedTuple):
    """What one request needs: its headers, its TLS context (None for plain HTTP), and what made them."""

    headers: Mapping[str, str]
    tls: ssl.SSLContext | None
    credential: Credential | None = None


class TokenFile:
    """A bearer token in a file that somebody rotates, as the kubelet does with service account tokens."""

    def __init__(self, path: str, fallback: str | None, *, clock: Callable[[], float]) -> None:
        """`fallback` is the token to use while the file was never readable; `clock` is in seconds."""
        self._path = path
        self._clock = clock
        self._token = fallback
        self._mark: FileMark = None
        self._read_at: float | None = None

    def current(self) -> str:
        """The token; read when the file changed, or a minute ago, or was refused. Keeps the last good one."""
        mark, now = file_mark(self._path), self._clock()
        if self._read_at is None or mark != self._mark or now - self._read_at >= REREAD_AFTER:
            problem = self._read()
            self._mark, self._read_at = mark, now
            if problem and self._token is None:
                raise ClusterError(problem)
        if self._token is None:
            raise ClusterError(f"{self._path}: no token in this file")
        return self._token

    def rejected(self) -> None:
        """The server refused the token: read the file before the next request."""
        self._read_at = None

    def _read(self) -> str:
        try:
            with open(self._path, encoding="ascii") as file:
                token = file.read().strip()
        except OSError as error:
            return os_error_text("open", self._path, error)
        except UnicodeDecodeError:
            return f"{self._path}: expected a token in ASCII"
        if not token:
            return f"{self._path}: no token in this file"
        self._token = token
        return ""


class Credentials:
    """The credentials of one `ClusterAccess`. A token wins over basic authentication, that over an exec plugin."""

    def __init__(
        self,
        access: ClusterAccess,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`clock` and `wall` (Unix time) are in seconds; `environ` is what exec plugins inherit (ours)."""
        self._access = access
        self._secure = access.server.startswith("https:")
        self._tls = TlsContexts(access)
        self._file = TokenFile(access.token_file, access.token, clock=clock) if access.token_file else None
        self._plugin: ExecPlugin | None = None
        if access.exec and not (access.token or access.token_file or access.username):
            inherited = os.environ if environ is None else environ
            self._plugin = ExecPlugin(access.exec, access, wall=wall, environ=inherited)

    async def current(self) -> Grant:
        """What to send now. ClusterError when the credentials cannot be read, made or loaded."""
        credential = await self._plugin.current() if self._plugin else None
        authorization = self._authorization(credential)
        headers = {"Authorization": authorization} if authorization else {}
        certificate = credential.certificate if credential else None
        return Grant(headers, self._tls.current(certificate) if self._secure else None, credential)

    def rejected(self, grant: Grant) -> None:
        """The server answered 401 to `grant`: look again before the next request."""
        if self._file:
            self._file.rejected()
        if self._plugin and grant.credential:
            self._plugin.rejected(grant.credential)

    def _authorization(self, credential: Credential | None) -> str | None:
        access = self._access
        if self._file or access.token:
            return f"Bearer {self._file.current() if self._file else access.token}"
        if access.username:
            pair = f"{access.username}:{access.password or ''}".encode()
            return f"Basic {base64.b64encode(pair).decode()}"
        return f"Bearer {credential.token}" if credential and credential.token else None
