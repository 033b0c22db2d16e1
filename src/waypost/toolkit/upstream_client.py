"""The client for an upstream, by its scheme. What only `https` and `quic` need is imported when one of them is used."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from importlib.util import find_spec

from waypost.corefile.errors import CorefileError
from waypost.toolkit.exchange import Client, ExchangeSettings, UpstreamClient
from waypost.toolkit.upstream_address import HTTPS, QUIC, TLS, UpstreamAddress
from waypost.toolkit.upstream_metrics import UpstreamMetrics
from waypost.toolkit.upstream_tls import TlsFiles, client_context

# The package that a scheme needs, and the extra that installs it.
_EXTRAS = {HTTPS: ("h2", "doh"), QUIC: ("aioquic", "quic")}
_ALPN: dict[str, tuple[str, ...]] = {TLS: (), HTTPS: ("h2",), QUIC: ()}


class ClientMaker:
    """Makes the clients of one directive. `schemes` are those that its upstreams may have, `files` its certificates.

    Raises CorefileError for files that cannot be used, and if a scheme needs a package that is not installed.
    """

    __slots__ = ("_contexts", "_files", "_settings")

    def __init__(self, schemes: Iterable[str], files: TlsFiles, settings: ExchangeSettings) -> None:
        self._files = files
        self._settings = settings
        self._contexts: dict[str, ssl.SSLContext] = {}
        if files.names:
            client_context(files)
        for scheme in dict.fromkeys(schemes):
            _check_installed(scheme)
            if scheme in _ALPN:
                self._contexts[scheme] = client_context(files, _ALPN[scheme])

    def client(self, address: UpstreamAddress, metrics: UpstreamMetrics) -> UpstreamClient:
        """A client for an upstream."""
        if address.scheme == HTTPS:
            from waypost.toolkit.upstream_https import https_client

            return https_client(address, self._contexts[HTTPS], self._settings, metrics.streams)
        if address.scheme == QUIC:
            from waypost.toolkit.upstream_quic import quic_client

            return quic_client(address, self._files, self._settings, metrics.streams)
        tls = self._contexts.get(address.scheme)
        return Client(address, tls, self._settings, metrics.datagrams, metrics.streams)


def _check_installed(scheme: str) -> None:
    package, extra = _EXTRAS.get(scheme, ("", ""))
    if package and find_spec(package) is None:
        raise CorefileError.unlocated(
            f"{scheme}:// upstreams need the package {package}, which is not installed: pip install 'waypost[{extra}]'"
        )
