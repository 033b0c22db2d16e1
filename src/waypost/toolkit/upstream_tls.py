"""What a client of upstreams trusts and shows over TLS."""

from __future__ import annotations

import os
import ssl
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from waypost.corefile.errors import CorefileError


class TlsFiles(NamedTuple):
    """File names; an empty `ca` stands for the system's roots, an empty `certificate` for showing none."""

    ca: str = ""
    certificate: str = ""
    key: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are given."""
        return tuple(filter(None, self))

    def marks(self) -> Hashable:
        """What changes when a certificate is renewed, so that a reload takes it up. Raises OSError."""
        return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in map(os.stat, self.names))


def files_of(names: Sequence[str]) -> TlsFiles:
    """From no file, CA, CERT KEY or CERT KEY CA."""
    if len(names) < 2:
        return TlsFiles(*names)
    return TlsFiles(names[2] if len(names) > 2 else "", names[0], names[1])


def client_context(files: TlsFiles, alpn: Sequence[str] = ()) -> ssl.SSLContext:
    """A context for TLS 1.2 or later that offers the protocols `alpn`. Raises CorefileError, with CoreDNS's text."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Go asks less of a private CA's certificates than Python 3.13 does by default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if alpn:
        context.set_alpn_protocols(list(alpn))
    if files.certificate:
        _check_readable((files.certificate, files.key), "could not load TLS cert: ")
        try:
            context.load_cert_chain(files.certificate, files.key)
        except (OSError, ssl.SSLError) as exc:
            text = f"could not load TLS cert: {files.certificate}, {files.key}: {exc}"
            raise CorefileError.unlocated(text) from exc
    if not files.ca:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return context
    _check_readable((files.ca,), f"error reading {files.ca}: ")
    try:
        context.load_verify_locations(files.ca)
    except (OSError, ssl.SSLError) as exc:
        raise CorefileError.unlocated(f"could not read root certs: {files.ca}: {exc}") from exc
    return context


def _check_readable(names: Sequence[str], complaint: str) -> None:
    for name in names:
        try:
            with open(name, "rb"):
                pass
        except OSError as exc:
            reason = (exc.strerror or str(exc)).lower()
            raise CorefileError.unlocated(f"{complaint}open {name}: {reason}") from exc
