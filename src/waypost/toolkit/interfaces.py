"""The addresses of this machine's network interfaces, asked from the kernel (rtnetlink(7), Linux only)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from typing import Final

from waypost.wire import addr

_RTM_GETADDR: Final = 22
_RTM_NEWADDR: Final = 20
_NLMSG_DONE: Final = 3
_NLM_F_REQUEST: Final = 0x1
_NLM_F_DUMP: Final = 0x300
_IFA_ADDRESS: Final = 1
_IFA_LOCAL: Final = 2
_SCOPE_LINK: Final = 253

_HEADER: Final = struct.Struct("=IHHII")  # nlmsghdr: length, type, flags, sequence, port
_ADDRESS: Final = struct.Struct("=BBBBI")  # ifaddrmsg: family, prefix length, flags, scope, interface index
_ATTRIBUTE: Final = struct.Struct("=HH")  # rtattr: length, type
_BUFFER: Final = 1 << 16
_TIMEOUT: Final = 2.0


def interface_addresses() -> dict[str, list[str]]:
    """Addresses in text by interface name, an interface without any included; link-local IPv6 ones as `fe80::1%eth0`.

    Raises OSError if the kernel does not tell.
    """
    names = dict(socket.if_nameindex())
    out: dict[str, list[str]] = {name: [] for name in names.values()}
    for reply in _dump():
        for index, text, is_link_local in parse_addresses(reply):
            name = names.get(index)
            if name is not None:
                out[name].append(f"{text}%{name}" if is_link_local else text)
    return out


def parse_addresses(reply: bytes) -> Iterator[tuple[int, str, bool]]:
    """Interface index, address and whether it is IPv6 link-local, for each RTM_NEWADDR of a netlink datagram."""
    for kind, body in _messages(reply):
        if kind != _RTM_NEWADDR:
            continue
        family, _, _, scope, index = _ADDRESS.unpack_from(body)
        attributes = dict(_attributes(body[_ADDRESS.size :]))
        # On a point-to-point link IFA_ADDRESS is the other end's; IFA_LOCAL, where it is given, is ours.
        packed = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
        if packed is not None and family in (socket.AF_INET, socket.AF_INET6):
            yield index, addr.unpack(packed), family == socket.AF_INET6 and scope == _SCOPE_LINK


def _dump() -> Iterator[bytes]:
    request = _ADDRESS.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
    header = _HEADER.pack(_HEADER.size + len(request), _RTM_GETADDR, _NLM_F_REQUEST | _NLM_F_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.settimeout(_TIMEOUT)
        sock.send(header + request)
        while True:
            reply = sock.recv(_BUFFER)
            yield reply
            if not reply or any(kind == _NLMSG_DONE for kind, _ in _messages(reply)):
                return


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    i = 0
    while i + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, i)
        if length < _HEADER.size:
            return
        yield kind, data[i + _HEADER.size : i + length]
        i += _aligned(length)


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    i = 0
    while i + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, i)
        if length < _ATTRIBUTE.size:
            return
        yield kind, data[i + _ATTRIBUTE.size : i + length]
        i += _aligned(length)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
