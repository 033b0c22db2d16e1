"""Where names stand inside rdata: needed to read compressed rdata and to compress it (RFC 3597 section 4).

A layout is a list of steps over the rdata: a number skips that many bytes, `NAME` is a name, `TEXT` a
character-string; the rest is opaque. Types that are not listed hold no compressible name.
"""

from __future__ import annotations

from typing import Final

from waypost.wire.errors import FormErr

NAME: Final = -1
TEXT: Final = -2

# Read: names that some senders compress (RFC 3597 section 4, RFC 2782 for SRV).
LAYOUTS: dict[int, tuple[int, ...]] = {
    2: (NAME,),  # NS
    3: (NAME,),  # MD
    4: (NAME,),  # MF
    5: (NAME,),  # CNAME
    6: (NAME, NAME),  # SOA
    7: (NAME,),  # MB
    8: (NAME,),  # MG
    9: (NAME,),  # MR
    12: (NAME,),  # PTR
    14: (NAME, NAME),  # MINFO
    15: (2, NAME),  # MX
    17: (NAME, NAME),  # RP
    18: (2, NAME),  # AFSDB
    21: (2, NAME),  # RT
    24: (18, NAME),  # SIG
    26: (2, NAME, NAME),  # PX
    30: (NAME,),  # NXT
    33: (6, NAME),  # SRV
    35: (4, TEXT, TEXT, TEXT, NAME),  # NAPTR
    36: (2, NAME),  # KX
    39: (NAME,),  # DNAME
    46: (18, NAME),  # RRSIG
    47: (NAME,),  # NSEC
}
# Read: bytes of rdata, or behind its last step, where that is known. Otherwise they may be any number.
_LENGTHS = {1: 4, 28: 16}  # A, AAAA
_OPEN = (24, 30, 46, 47)  # a signature, a bit map
_BEHIND = {rtype: 20 if rtype == 6 else 0 for rtype in LAYOUTS if rtype not in _OPEN}
# Written: only the types of RFC 1035 may be compressed.
COMPRESSIBLE = frozenset((2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15))


def read_name(wire: bytes, i: int) -> tuple[bytes, int]:
    """The name at offset i, uncompressed, and the offset behind it. Work is bounded. Raises FormErr."""
    parts = []
    size = 1
    end = -1
    limit = start = i
    try:
        while length := wire[i]:
            if length >= 0xC0:
                if end < 0:
                    end = i + 2
                parts.append(wire[start:i])
                i = start = (length & 0x3F) << 8 | wire[i + 1]
                if i >= limit:  # a pointer that does not go back could loop
                    raise FormErr("compression pointer does not point back")
                limit = i
                continue
            if length > 63:
                raise FormErr("label type not known")
            size += length + 1
            if size > 255:
                raise FormErr("name longer than 255 bytes")
            i += length + 1
    except IndexError:
        raise FormErr("name cut short") from None
    if end < 0:
        return wire[start : i + 1], i + 1
    parts.append(wire[start : i + 1])
    return b"".join(parts), end


def read_rdata(wire: bytes, i: int, length: int, rtype: int) -> bytes:
    """The rdata at offset i with its names uncompressed. Raises FormErr."""
    layout = LAYOUTS.get(rtype)
    end = i + length
    if layout is None:
        if _LENGTHS.get(rtype, length) != length:
            raise FormErr("rdata of the wrong length")
        return wire[i:end]
    parts = []
    for step in layout:
        if step == NAME:
            name, after = read_name(wire, i)
            parts.append(name)
        else:
            if step == TEXT and i >= end:
                raise FormErr("rdata cut short")
            after = i + (wire[i] + 1 if step == TEXT else step)
            parts.append(wire[i:after])
        i = after
        if i > end:
            raise FormErr("rdata cut short")
    if _BEHIND.get(rtype, end - i) != end - i:
        raise FormErr("rdata of the wrong length")
    parts.append(wire[i:end])
    return b"".join(parts)


def name_end(rdata: bytes, i: int) -> int:
    """The offset behind the uncompressed name at i."""
    while length := rdata[i]:
        i += length + 1
    return i + 1
