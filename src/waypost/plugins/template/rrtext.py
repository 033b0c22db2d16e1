"""The text of one resource record to a `Record` (RFC 1035 section 5.1), as cheap as it can be for texts seen before."""

from __future__ import annotations

import re
from typing import NamedTuple

import dns.exception
import dns.name
import dns.rdata
import dns.ttl
from dns.rdataclass import RdataClass
from dns.rdatatype import RdataType

from waypost.wire import consts, names
from waypost.wire.record import Record

_OWNER = re.compile(r'\s*((?:[^\s\\;()"]|\\.)+)\s+', re.DOTALL)
_WORD = re.compile(r"\s*([^\s;()\"]+)")
_TTL = re.compile(r"[0-9]+(?:[0-9SMHDW]*)")
_DEFAULT_TTL = 3600
_REMEMBERED = 1024


class _Body(NamedTuple):
    rtype: int
    rclass: int
    ttl: int
    rdata: bytes


class RecordReader:
    """Reads records; what stands behind the owner is remembered, so a constant answer is parsed once for all names."""

    __slots__ = ("_bodies",)

    def __init__(self) -> None:
        self._bodies: dict[str, _Body] = {}

    def read(self, text: str) -> Record | None:
        """The first record of `text`: `OWNER [TTL] [CLASS] TYPE RDATA`, None if it is blank; names are absolute.

        TTL (default 3600) and class (default IN) may change places. Raises ValueError.
        """
        found = _OWNER.match(text)
        if found is None:
            if not text.strip():
                return None
            raise ValueError(f"no record: {text!r}")
        owner = names.ROOT if found[1] == "@" else names.from_text(found[1])
        rest = text[found.end() :]
        body = self._bodies.get(rest)
        if body is None:
            if len(self._bodies) >= _REMEMBERED:
                self._bodies.clear()
            body = self._bodies[rest] = _parse_body(rest)
        return Record(owner, body.rtype, body.rclass, body.ttl, body.rdata)


def _parse_body(text: str) -> _Body:
    ttl: int | None = None
    rclass: int | None = None
    position = 0
    while (found := _WORD.match(text, position)) is not None:
        word = found[1].upper()
        position = found.end()
        if ttl is None and _TTL.fullmatch(word):
            ttl = _parse_ttl(word)
        elif rclass is None and consts.class_number(word) is not None and word != "ANY":
            rclass = consts.class_number(word)
        else:
            rtype = consts.type_number(word)
            if rtype is None:
                raise ValueError(f"neither TTL, class nor type: {found[1]!r}")
            rclass = consts.CLASS_IN if rclass is None else rclass
            rdata = _parse_rdata(rclass, rtype, text[position:])
            return _Body(rtype, rclass, _DEFAULT_TTL if ttl is None else ttl, rdata)
    raise ValueError(f"no type: {text!r}")


def _parse_ttl(word: str) -> int:
    try:
        return dns.ttl.from_text(word)
    except dns.exception.DNSException as exc:
        raise ValueError(str(exc)) from exc


def _parse_rdata(rclass: int, rtype: int, text: str) -> bytes:
    try:
        rdata = dns.rdata.from_text(
            RdataClass.make(rclass), RdataType.make(rtype), text, origin=dns.name.root, relativize=False
        )
    except dns.exception.DNSException as exc:
        raise ValueError(f"bad rdata for {consts.type_text(rtype)}: {exc}") from exc
    return rdata.to_wire() or b""
