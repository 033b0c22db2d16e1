"""Where an answer goes, and from which of our addresses: to the client, from where its query came to.

On a wildcard socket that takes a control message with each datagram (ip(7), RFC 3542 section 6.2).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from typing import NamedTuple

from waypost.dispatch.request import Address

_IP_PKTINFO = 8
_V4_INFO = struct.Struct("=i4s4s")
_V6_INFO = struct.Struct("=16si")
LINK_LOCAL = b"\xfe\x80"

Control = list[tuple[int, int, bytes]]
"""Control messages as `socket.sendmsg` takes them."""


class Way(NamedTuple):
    """The client, and on a wildcard socket what makes the answer leave from the right address."""

    client: Address
    control: Control


def ask_for_destination(sock: socket.socket) -> None:
    """Have the kernel tell with each datagram where it came to."""
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
    else:
        sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)


def from_there(control: Iterable[tuple[int, int, bytes]]) -> Control:
    """The control message that sends from the address that a packet came to."""
    for level, kind, data in control:
        if level == socket.IPPROTO_IP and kind == _IP_PKTINFO:
            _index, local, _destination = _V4_INFO.unpack(data[: _V4_INFO.size])
            return [(level, kind, _V4_INFO.pack(0, local, b"\0\0\0\0"))]
        if level == socket.IPPROTO_IPV6 and kind == socket.IPV6_PKTINFO:
            local, index = _V6_INFO.unpack(data[: _V6_INFO.size])
            return [(level, kind, _V6_INFO.pack(local, index if local.startswith(LINK_LOCAL) else 0))]
    return []


def sent(sock: socket.socket, answer: bytes, way: Way) -> bool:
    """Send one answer; False if that cannot be done: no way to the client, or a full send buffer. Nobody is to tell."""
    try:
        if way.control:
            sock.sendmsg((answer,), way.control, 0, way.client)
        else:
            sock.sendto(answer, way.client)
    except OSError:
        return False
    return True
