"""PROXY headers as proxies write them."""

from __future__ import annotations

import ipaddress
import struct

_SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")


def v1(source: str, port: int) -> bytes:
    """A line of text, the destination being of the same family."""
    v6 = ":" in source
    return f"PROXY {'TCP6' if v6 else 'TCP4'} {source} {'::1' if v6 else '127.0.0.1'} {port} 53\r\n".encode()


def v2(source: str, port: int, *, datagram: bool) -> bytes:
    """The binary form, with an option behind the addresses."""
    packed = ipaddress.ip_address(source).packed
    body = packed + bytes(len(packed)) + struct.pack("!HH", port, 53) + b"\xea\0\x02id"
    kind = (0x10 if len(packed) == 4 else 0x20) | (2 if datagram else 1)
    return _SIGNATURE + struct.pack("!BBH", 0x21, kind, len(body)) + body


def local() -> bytes:
    """A proxy that speaks for itself: a health check."""
    return _SIGNATURE + struct.pack("!BBH", 0x20, 0, 0)
