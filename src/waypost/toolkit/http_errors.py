"""What goes wrong between an HTTP client and its server, in words."""

from __future__ import annotations

import os
import socket
import ssl


class HttpError(Exception):
    """No answer, or no whole one; `str()` says why in the words of Go's net/http, which users match in logs."""


class Disconnected(HttpError):
    """The server ended the connection without a word: over one kept alive it may never have seen the request."""


def transport_error_text(error: Exception) -> str:
    """What went wrong with a request."""
    return "i/o timeout" if isinstance(error, TimeoutError) else str(error) or type(error).__name__


def dial_error(error: OSError, address: str) -> HttpError:
    """Why there is no connection to an address, `HOST:PORT` or the path of a Unix socket."""
    match error:
        case ssl.SSLError():
            return HttpError(_tls_text(error))
        case socket.gaierror():
            return HttpError(f"dial tcp: lookup {address.rpartition(':')[0]}: no such host")
        case TimeoutError() if not error.errno:
            return HttpError(f"dial tcp {address}: i/o timeout")
    # asyncio puts the address into strerror; the plain text is looked up. No errno: several addresses failed, or it
    # was connected and ended before TLS was agreed on.
    reason = os.strerror(error.errno).lower() if error.errno else str(error) or "EOF"
    return HttpError(f"dial {'unix' if address.startswith('/') else 'tcp'} {address}: connect: {reason}")


def lost_error(error: Exception | None, *, answering: bool) -> HttpError:
    """Why a connection ended; `answering` is true once the head of an answer has come."""
    match error:
        case ssl.SSLError():
            return HttpError(_tls_text(error))
        case ConnectionResetError():
            text = "read: connection reset by peer"
        case None:
            text = "EOF"
        case _:
            text = str(error) or type(error).__name__
    return HttpError("unexpected EOF" if text == "EOF" else text) if answering else Disconnected(text)


def _tls_text(error: ssl.SSLError) -> str:
    verifying = isinstance(error, ssl.SSLCertVerificationError)
    return f"tls: {'failed to verify certificate: x509: ' if verifying else ''}{error}"
