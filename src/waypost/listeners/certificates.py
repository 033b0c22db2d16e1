"""A server's certificates for TLS, taken up again when their files change."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from waypost.corefile.errors import CorefileError
from waypost.dispatch.transports import TlsSettings

T = TypeVar("T")
Mark = tuple[int, int, int] | None

_VERIFY: Final = {
    "verify_if_given": ssl.CERT_OPTIONAL,
    "require": ssl.CERT_REQUIRED,
    "require_and_verify": ssl.CERT_REQUIRED,
}


class Followed(Generic[T]):
    """What is made from files, made again when one of them was replaced.

    What cannot be made then, because half of a new pair is there perhaps, leaves the old one in use.
    """

    __slots__ = ("_complain", "_made", "_make", "_marks", "_names")

    def __init__(self, names: Sequence[str], make: Callable[[], T], complain: Callable[[str], None]) -> None:
        """Raises what `make` raises. `complain` gets a sentence when a new one cannot be made."""
        self._names = tuple(filter(None, names))
        self._make = make
        self._complain = complain
        self._marks = self._look()
        self._made = make()

    def current(self) -> T:
        """What to use now; the same object as long as the files are the same."""
        marks = self._look()
        if marks != self._marks:
            self._marks = marks
            try:
                self._made = self._make()
            except (CorefileError, OSError, ValueError) as exc:
                self._complain(f"{self._names[0]} has changed and cannot be used, the old one is kept: {exc}")
        return self._made

    def _look(self) -> tuple[Mark, ...]:
        return tuple(map(_mark, self._names))


def server_context(settings: TlsSettings, alpn: Sequence[str] = ()) -> ssl.SSLContext:
    """A context for TLS 1.2 or later that agrees on one of the protocols. Raises CorefileError, CoreDNS's text."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A client could make us compute for ever on one connection.
    context.options |= ssl.OP_NO_RENEGOTIATION
    if alpn:
        context.set_alpn_protocols(list(alpn))
    check_readable(settings)
    try:
        context.load_cert_chain(settings.certificate, settings.key)
    except (OSError, ssl.SSLError) as exc:
        text = f"could not load TLS cert: {settings.certificate}, {settings.key}: {exc}"
        raise CorefileError.unlocated(text) from exc
    context.verify_mode = _VERIFY.get(settings.client_auth, ssl.CERT_NONE)
    if context.verify_mode != ssl.CERT_NONE:
        _load_roots(context, settings.ca)
    if settings.keylog:
        open_keylog(settings.keylog)
        context.keylog_filename = settings.keylog
    return context


def check_readable(settings: TlsSettings) -> None:
    """Raises CorefileError, with CoreDNS's text, unless every file can be read."""
    for name in (settings.certificate, settings.key):
        _try_to_read(name, "could not load TLS cert")
    if settings.ca:
        _try_to_read(settings.ca, f"error reading {settings.ca}")


def open_keylog(name: str) -> None:
    """Make the file for session keys, that nobody else can read. Raises CorefileError."""
    try:
        os.close(os.open(name, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError as exc:
        raise CorefileError.unlocated(f"could not open keylog file: open {name}: {_reason(exc)}") from exc


def _load_roots(context: ssl.SSLContext, ca: str) -> None:
    if not ca:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        return
    try:
        context.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as exc:
        raise CorefileError.unlocated(f"could not read root certs: {ca}: {exc}") from exc


def _try_to_read(name: str, complaint: str) -> None:
    try:
        with open(name, "rb"):
            pass
    except OSError as exc:
        raise CorefileError.unlocated(f"{complaint}: open {name}: {_reason(exc)}") from exc


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _mark(name: str) -> Mark:
    """What changes when a file is replaced; None for no file."""
    try:
        stat = os.stat(name)
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size
