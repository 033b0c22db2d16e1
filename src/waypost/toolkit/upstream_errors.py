"""How asking an upstream fails. Texts are those of Go's net package: users match CoreDNS's log lines by them."""

from __future__ import annotations

import os
import ssl
from typing import Any

from waypost.corefile.addresses import join_host_port


class UpstreamError(Exception):
    """An upstream gave no usable reply; `str()` is the line for the log."""


class ConnectionLost(UpstreamError):
    """The stream ended before the reply: worth another try if the connection was not new."""


class Mismatch(UpstreamError):
    """The reply with our message id is no answer to our question; another upstream is not asked."""


class Busy(UpstreamError):
    """Too many queries wait for this upstream already; it is not its fault."""


def connecting(network: str, remote: str, error: OSError) -> UpstreamError:
    """A socket could not be connected; `network` is `udp` or `tcp`."""
    if isinstance(error, TimeoutError) and error.errno is None:
        return UpstreamError(f"dial {network} {remote}: i/o timeout")
    return UpstreamError(f"dial {network} {remote}: connect: {_reason(error)}")


def failed_handshake(remote: str, error: ssl.SSLError) -> UpstreamError:
    """TLS could not be agreed on, or the certificate is not the expected one."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return UpstreamError(f"tls: failed to verify certificate of {remote}: {error.verify_message.lower()}")
    return UpstreamError(f"tls: handshake with {remote} failed: {(error.reason or str(error)).lower()}")


def transfer(call: str, network: str, ends: str, error: OSError) -> ConnectionLost:
    """A connected socket failed in `call`, which is `read` or `write`; `ends` is `LOCAL->REMOTE`."""
    return ConnectionLost(f"{call} {network} {ends}: {call}: {_reason(error)}")


def timed_out(network: str, ends: str) -> UpstreamError:
    """No reply came in time."""
    return UpstreamError(f"read {network} {ends}: i/o timeout")


def ends_text(local: Any, remote: str) -> str:
    """`LOCAL->REMOTE` of a connected socket; `local` is what `getsockname` gives."""
    return f"{join_host_port(local[0], local[1])}->{remote}"


def same_error(error: UpstreamError) -> UpstreamError:
    """Several callers fail for one reason, each with an exception of its own."""
    return type(error)(*error.args)


def _reason(error: OSError) -> str:
    return (os.strerror(error.errno) if error.errno else str(error)).lower()
