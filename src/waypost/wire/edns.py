"""EDNS options of an OPT record (RFC 6891 section 6.1.2)."""

from __future__ import annotations

import struct
from typing import NamedTuple

from waypost.wire import consts
from waypost.wire.errors import FormErr

_HEAD = struct.Struct("!HH")
_OPT = struct.Struct("!BHHBBHH")

# What a server sends back of a client's own options when it adds none itself.
ECHOED = frozenset(
    (
        consts.EDNS_NSID,
        consts.EDNS_EXPIRE,
        consts.EDNS_COOKIE,
        consts.EDNS_TCP_KEEPALIVE,
        consts.EDNS_PADDING,
    )
)
DO = 0x8000


class Option(NamedTuple):
    """One EDNS option: its code and its raw data."""

    code: int
    data: bytes


Options = tuple[Option, ...]


class Opt(NamedTuple):
    """An OPT record: UDP payload size in bytes, version, the 16 flag bits (DO is the highest) and its options."""

    udp_size: int
    version: int = 0
    flags: int = 0
    options: Options = ()

    @property
    def do(self) -> bool:
        """The DNSSEC OK bit (RFC 3225)."""
        return bool(self.flags & DO)


def parse_options(rdata: bytes) -> Options:
    """The options in an OPT record's rdata. Raises FormErr on an overrun or a client subnet that makes no sense."""
    out = []
    i = 0
    while i < len(rdata):
        if i + 4 > len(rdata):
            raise FormErr("EDNS option header overruns the record")
        code, length = _HEAD.unpack_from(rdata, i)
        i += 4
        if i + length > len(rdata):
            raise FormErr("EDNS option overruns the record")
        option = Option(code, rdata[i : i + length])
        if code == 8:
            _check_subnet(option.data)
        out.append(option)
        i += length
    return tuple(out)


def pack_options(options: Options) -> bytes:
    """Options to rdata."""
    return b"".join(_HEAD.pack(code, len(data)) + data for code, data in options)


def pack_opt(udp_size: int, extended_rcode: int, version: int, flags: int, options: Options) -> bytes:
    """A whole OPT record; `extended_rcode` is the upper eight bits of the twelve-bit rcode."""
    rdata = pack_options(options) if options else b""
    fixed = _OPT.pack(0, consts.TYPE_OPT, udp_size, extended_rcode, version, flags, len(rdata))
    return fixed + rdata


def opt_size(options: Options) -> int:
    """Bytes of an OPT record that carries these options."""
    return 11 + sum(4 + len(data) for _, data in options)


def ede(code: int, text: str = "") -> Option:
    """An Extended DNS Error option (RFC 8914)."""
    return Option(consts.EDNS_EDE, code.to_bytes(2, "big") + text.encode())


def _check_subnet(data: bytes) -> None:
    """RFC 7871 section 6: prefix within the family's width, address bytes as many as the prefix needs."""
    if len(data) < 4:
        raise FormErr("client subnet too short")
    family, prefix, scope = int.from_bytes(data[:2], "big"), data[2], data[3]
    if family == 0:
        if prefix:
            raise FormErr("client subnet without a family has a prefix")
        return
    width = {1: 32, 2: 128}.get(family)
    if width is None or prefix > width or scope > width:
        raise FormErr("client subnet prefix out of range")
