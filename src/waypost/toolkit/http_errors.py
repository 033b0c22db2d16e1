"""What goes wrong between an HTTP client and its server, in words."""

from __future__ import annotations

import os


def transport_error_text(error: Exception) -> str:
    """What went wrong, in the words of Go's net/http, which users match in logs."""
    import aiohttp
    from aiohttp.client_exceptions import UnixClientConnectorError

    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"tls: failed to verify certificate: x509: {error.certificate_error}"
        case aiohttp.ClientSSLError():
            return f"tls: {error.os_error}"
        case aiohttp.ClientConnectorDNSError():
            return f"dial tcp: lookup {error.host}: no such host"
        case UnixClientConnectorError():
            return f"dial unix {error.path}: connect: {(error.os_error.strerror or str(error.os_error)).lower()}"
        case aiohttp.ClientConnectorError():
            # asyncio puts the address into strerror; the plain text is looked up. No errno: several addresses failed.
            number = error.os_error.errno
            reason = os.strerror(number).lower() if number else str(error.os_error)
            return f"dial tcp {error.host}:{error.port}: connect: {reason}"
        case TimeoutError():
            return "i/o timeout"
        case aiohttp.ServerDisconnectedError():
            return "EOF"
        case aiohttp.ClientPayloadError():
            return "unexpected EOF"
        case ConnectionResetError():
            return "read: connection reset by peer"
    return str(error) or type(error).__name__
