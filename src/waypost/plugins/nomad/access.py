"""How to reach a Nomad cluster: what the Corefile says, and otherwise Nomad's environment variables."""

from __future__ import annotations

import ssl
from base64 import b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

from waypost import __version__
from waypost.corefile.errors import CorefileError
from waypost.corefile.values import parse_bool
from waypost.plugins.nomad.config import Config
from waypost.toolkit.http_api import Endpoint, HttpApi, endpoint_of
from waypost.toolkit.upstream_tls import TlsFiles, client_context

_DEFAULT_ADDRESS: Final = "http://127.0.0.1:4646"
_PATIENCE: Final = 5.0


def api_of(config: Config, env: Mapping[str, str]) -> HttpApi:
    """The servers and what they are sent with each request. Raises CorefileError."""
    endpoints = endpoints_of(config, env)
    by_tls = any(endpoint.url.startswith("https:") for endpoint in endpoints)
    return HttpApi(
        endpoints,
        headers=headers_of(config, env),
        patience=_PATIENCE,
        tls=tls_of(env) if by_tls else None,
        hostname=env.get("NOMAD_TLS_SERVER_NAME", ""),
    )


def endpoints_of(config: Config, env: Mapping[str, str]) -> list[Endpoint]:
    """Where the API is. Raises CorefileError."""
    addresses = config.addresses or (env.get("NOMAD_ADDR") or _DEFAULT_ADDRESS,)
    return [endpoint_of(text, unix=True) for text in addresses]


def headers_of(config: Config, env: Mapping[str, str]) -> dict[str, str]:
    """The token, and a user's name and password for a proxy in front."""
    headers = {"User-Agent": f"Waypost-{__version__}", "Accept": "application/json"}
    token = config.token or env.get("NOMAD_TOKEN", "")
    if token:
        headers["X-Nomad-Token"] = token
    user = env.get("NOMAD_HTTP_AUTH", "")
    if user:
        headers["Authorization"] = f"Basic {b64encode(user.encode()).decode()}"
    return headers


def parameters_of(config: Config, env: Mapping[str, str]) -> str:
    """What follows the namespace in the query of a request, encoded."""
    given = {"region": env.get("NOMAD_REGION", ""), "filter": config.filter}
    return "".join(f"&{urlencode({name: value})}" for name, value in given.items() if value)


def tls_of(env: Mapping[str, str]) -> ssl.SSLContext:
    """Whom to trust, and the certificate to show. Raises CorefileError."""
    certificate, key = env.get("NOMAD_CLIENT_CERT", ""), env.get("NOMAD_CLIENT_KEY", "")
    if bool(certificate) != bool(key):
        raise CorefileError.unlocated("NOMAD_CLIENT_CERT and NOMAD_CLIENT_KEY: expected both or none")
    context = client_context(TlsFiles(env.get("NOMAD_CACERT", ""), certificate, key))
    folder = env.get("NOMAD_CAPATH", "")
    if folder:
        try:
            context.load_verify_locations(capath=folder)
        except OSError as exc:
            raise CorefileError.unlocated(f"NOMAD_CAPATH {folder}: {exc.strerror or exc}") from exc
    if _is_true(env, "NOMAD_SKIP_VERIFY"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_true(env: Mapping[str, str], name: str) -> bool:
    text = env.get(name, "")
    try:
        return parse_bool(text) if text else False
    except ValueError as exc:
        raise CorefileError.unlocated(f"{name}: {exc}") from exc
