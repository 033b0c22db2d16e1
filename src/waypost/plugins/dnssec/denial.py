"""NSEC records made for one name: the smallest lie that denies no more than what was asked (RFC 4470).

A name that does not exist is said to exist without the asked type, so that its NSEC record matches it, and no second
one is needed for the wildcard; the reply's rcode is NOERROR then.
"""

from __future__ import annotations

from typing import Final

from dns.rdatatype import RdataType
from dns.rdtypes.util import Bitmap

from waypost.wire import consts, names

_ANYWHERE: Final = (
    RdataType.A, RdataType.HINFO, RdataType.TXT, RdataType.AAAA, RdataType.LOC, RdataType.SRV, RdataType.CERT,
    RdataType.SSHFP, RdataType.RRSIG, RdataType.NSEC, RdataType.TLSA, RdataType.HIP, RdataType.OPENPGPKEY,
    RdataType.SPF,
)  # fmt: skip
_AT_A_DELEGATION: Final = (*_ANYWHERE, RdataType.NS)
_AT_THE_APEX: Final = (*_ANYWHERE, RdataType.NS, RdataType.SOA, RdataType.MX, RdataType.DNSKEY)
# These two are there as soon as the record itself is.
_ALWAYS: Final = (consts.TYPE_RRSIG, consts.TYPE_NSEC)


def nsec(name: bytes, zone: bytes, qtype: int, *, referral: bool = False) -> bytes:
    """The rdata of the NSEC record at `name` that denies `qtype`; with `referral` it denies DS at a delegation.

    Names in wire form and lower case.
    """
    types: tuple[RdataType, ...]
    if referral or qtype == consts.TYPE_DS:
        types = _AT_A_DELEGATION
    else:
        types = _AT_THE_APEX if name == zone else _ANYWHERE
    kept = [kind for kind in types if referral or kind != qtype or kind in _ALWAYS]
    # A referral's record must not cover the names below it, as one that ends at the first of them would.
    successor = next_sibling(name) if referral else next_name(name)
    windows = Bitmap.from_rdtypes(kept).windows
    return successor + b"".join(bytes((window, len(bits))) + bits for window, bits in windows)


def next_name(name: bytes) -> bytes:
    """The first name behind this one in canonical order: one label `\\000` more, if there is room for it."""
    if len(name) + 2 <= names.MAX_NAME:
        return b"\x01\x00" + name
    return next_sibling(name)


def next_sibling(name: bytes) -> bytes:
    """The first name behind this one that does not lie below it (RFC 4471 section 3.1.2)."""
    labels = names.labels(name)
    first = labels[0]
    if len(first) < names.MAX_LABEL and len(name) < names.MAX_NAME:
        return names.from_labels([first + b"\x00", *labels[1:]])
    stem = first.rstrip(b"\xff")
    if not stem:
        return next_sibling(names.parent(name))
    last = stem[-1] + 1
    if 0x41 <= last <= 0x5A:  # upper case is lower case in that order
        last = 0x5B
    return names.from_labels([stem[:-1] + bytes((last,)), *labels[1:]])
