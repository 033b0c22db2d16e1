"""Exec credential plugins: run a program, read an ExecCredential (client.authentication.k8s.io v1 and v1beta1)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated

import msgspec

from waypost.kube.config import ClusterAccess, ExecSpec, os_error_text
from waypost.kube.errors import ClusterError
from waypost.kube.tls import ClientCertificate

RUN_TIMEOUT = 60.0
RENEW_EARLY = 60.0
STDERR_SHOWN = 300


class Credential(msgspec.Struct, frozen=True):
    """What a plugin gave: a bearer token, a client certificate or both. Times are Unix seconds."""

    token: str | None
    certificate: ClientCertificate | None
    renew_at: float | None
    expires_at: float | None


class ExecStatus(msgspec.Struct, rename="camel"):
    """ExecCredentialStatus."""

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class ExecCredential(msgspec.Struct, rename="camel"):
    """ExecCredential, as printed by a plugin."""

    api_version: str = ""
    kind: str = ""
    status: ExecStatus | None = None


class ExecPlugin:
    """Keeps one credential from a plugin, and runs the plugin again before it expires or when it is refused."""

    def __init__(
        self, spec: ExecSpec, access: ClusterAccess, *, wall: Callable[[], float], environ: Mapping[str, str]
    ) -> None:
        """`wall` is the time in Unix seconds, `environ` what the program inherits."""
        self._spec = spec
        self._wall = wall
        self._environ = {**environ, **dict(spec.env), "KUBERNETES_EXEC_INFO": exec_info(spec, access)}
        self._credential: Credential | None = None
        self._running = asyncio.Lock()

    async def current(self) -> Credential:
        """A credential that is good now. ClusterError when there is none to be had."""
        async with self._running:
            held, now = self._credential, self._wall()
            if held and (held.renew_at is None or now < held.renew_at):
                return held
            try:
                self._credential = parse_credential(await self._run(), self._spec, now)
            except ClusterError:
                if held is None or held.expires_at is None or now >= held.expires_at:
                    raise
                return held
            return self._credential

    def rejected(self, credential: Credential) -> None:
        """The server refused `credential` (401): the plugin is run anew, once for all who were refused with it."""
        if self._credential is credential:
            self._credential = None

    async def _run(self) -> bytes:
        spec = self._spec
        try:
            process = await asyncio.create_subprocess_exec(
                spec.command,
                *spec.args,
                env=self._environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f" ({spec.install_hint.strip()})" if spec.install_hint else ""
            reason = (error.strerror or str(error)).lower()
            raise ClusterError(f"exec plugin {spec.command}: cannot be run: {reason}{hint}") from error
        try:
            async with asyncio.timeout(RUN_TIMEOUT):
                output, complaint = await process.communicate()
        except TimeoutError as error:
            raise ClusterError(f"exec plugin {spec.command}: no answer in {RUN_TIMEOUT:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            tail = complaint.decode(errors="replace").strip()[-STDERR_SHOWN:]
            raise ClusterError(f"exec plugin {spec.command}: exit code {process.returncode}: {tail}")
        return output


def exec_info(spec: ExecSpec, access: ClusterAccess) -> str:
    """KUBERNETES_EXEC_INFO: an ExecCredential whose spec tells the plugin about us and the cluster."""
    told: dict[str, object] = {"interactive": False}
    if spec.provide_cluster_info:
        cluster = {
            "server": access.server,
            "tls-server-name": access.tls_server_name,
            "insecure-skip-tls-verify": access.insecure_skip_tls_verify,
            "certificate-authority-data": _ca_base64(access),
            "proxy-url": access.proxy_url,
            "disable-compression": access.disable_compression,
            "config": msgspec.Raw(spec.cluster_config) if spec.cluster_config else None,
        }
        told["cluster"] = {key: value for key, value in cluster.items() if value}
    info = {"kind": "ExecCredential", "apiVersion": spec.api_version, "spec": told}
    return msgspec.json.encode(info).decode()


def _ca_base64(access: ClusterAccess) -> str | None:
    data = access.ca_data
    if data is None and access.ca_file:
        try:
            with open(access.ca_file, "rb") as file:
                data = file.read()
        except OSError as error:
            raise ClusterError(os_error_text("open", access.ca_file, error)) from error
    return base64.b64encode(data).decode() if data else None


def parse_credential(output: bytes, spec: ExecSpec, now: float) -> Credential:
    """What plugin `spec` printed at `now` (Unix seconds) as a credential; ClusterError names the field."""
    where = f"exec plugin {spec.command}"
    try:
        answer = msgspec.json.decode(output, type=ExecCredential)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ClusterError(f"{where}: expected an ExecCredential in JSON: {error}") from error
    status = answer.status
    if answer.kind != "ExecCredential":
        raise ClusterError(f'{where}: kind: expected "ExecCredential", got "{answer.kind}"')
    if answer.api_version != spec.api_version:
        raise ClusterError(f'{where}: apiVersion: expected "{spec.api_version}", got "{answer.api_version}"')
    if status is None or not (status.token or status.client_certificate_data):
        raise ClusterError(f"{where}: status: expected a token or clientCertificateData")
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise ClusterError(f"{where}: status: expected clientCertificateData and clientKeyData together")
    certificate = None
    if status.client_certificate_data and status.client_key_data:
        certificate = ClientCertificate(status.client_certificate_data.encode(), status.client_key_data.encode())
    if status.expiration_timestamp is None:
        return Credential(status.token, certificate, None, None)
    expires_at = status.expiration_timestamp.timestamp()
    early = min(RENEW_EARLY, max(0.0, (expires_at - now) / 5))
    return Credential(status.token, certificate, expires_at - early, expires_at)
