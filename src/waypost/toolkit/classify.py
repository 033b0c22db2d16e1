"""What kind of reply it is: for the classes of `log` and for whoever treats denials and errors apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from waypost.toolkit.sent import as_sent
from waypost.wire import consts
from waypost.wire.query import Query
from waypost.wire.record import Records
from waypost.wire.reply import Reply

_OPCODE_UPDATE: Final = 5


class Kind(NamedTuple):
    """`group` is success, denial or error; `name` the finer type, both in CoreDNS's words."""

    group: str
    name: str


SUCCESS: Final = Kind("success", "NOERROR")
DELEGATION: Final = Kind("success", "DELEGATION")
NXDOMAIN: Final = Kind("denial", "NXDOMAIN")
NODATA: Final = Kind("denial", "NODATA")
SERVER_ERROR: Final = Kind("error", "SERVERERROR")
META: Final = Kind("error", "META")
UPDATE: Final = Kind("error", "UPDATE")
OTHER_ERROR: Final = Kind("error", "OTHERERROR")

_BY_OPCODE: Final = {consts.OPCODE_NOTIFY: META, _OPCODE_UPDATE: UPDATE}
_META_TYPES: Final = frozenset((consts.TYPE_AXFR, consts.TYPE_IXFR))


def classify(query: Query, reply: Reply, now: Callable[[], float] = time.time) -> Kind:
    """The kind of what the client gets; silence is an error. `now` gives Unix time, to tell expired signatures."""
    sent = as_sent(query, reply)
    if sent is None:
        return OTHER_ERROR
    if query.flags & consts.OPCODE_MASK:
        return _BY_OPCODE.get(query.opcode, OTHER_ERROR)
    if query.qtype in _META_TYPES:
        return META
    if query.do and _has_expired((*sent.answer, *sent.authority, *sent.additional), now()):
        return OTHER_ERROR
    if sent.rcode == consts.NOERROR:
        return SUCCESS if sent.answer else _without_answer(sent.authority)
    if sent.rcode == consts.NXDOMAIN:
        return OTHER_ERROR if sent.answer else NXDOMAIN
    return SERVER_ERROR if sent.rcode in (consts.SERVFAIL, consts.NOTIMP) else OTHER_ERROR


def _without_answer(authority: Records) -> Kind:
    types = {record.rtype for record in authority}
    if consts.TYPE_SOA in types:
        return NODATA
    return DELEGATION if consts.TYPE_NS in types else SUCCESS


def _has_expired(records: Records, now: float) -> bool:
    """True if a signature is outside its period (RFC 4034 section 3.1.5: serial number arithmetic on 32 bits)."""
    moment = int(now) & 0xFFFFFFFF
    for record in records:
        if record.rtype == consts.TYPE_RRSIG:
            expiration, inception = record.rdata[8:12], record.rdata[12:16]
            if _is_later(moment, expiration) or _is_later(int.from_bytes(inception, "big"), moment.to_bytes(4, "big")):
                return True
    return False


def _is_later(moment: int, than: bytes) -> bool:
    return 0 < (moment - int.from_bytes(than, "big")) & 0xFFFFFFFF < 0x80000000
