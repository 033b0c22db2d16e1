"""★3 The only parser on a query's way: header, one question, EDNS; no object tree.

What is accepted follows RFC 1035 section 4.1, RFC 6891 and RFC 9619 (one question). A packet that is no query to
answer raises `Rejected`, which carries the bytes to send back, if any. Records other than OPT are skipped, not decoded.
"""

from __future__ import annotations

import struct

from waypost.wire import consts
from waypost.wire.edns import Opt, parse_options
from waypost.wire.errors import FormErr, Rejected
from waypost.wire.names import label_starts

_HEADER = struct.Struct("!HHHHHH")
_TYPE_CLASS = struct.Struct("!HH")
_RR_FIXED = struct.Struct("!HHIH")
_HEADER_SIZE = 12
_MAX_NAME_END = _HEADER_SIZE + 255
_KNOWN_OPCODES = (consts.OPCODE_QUERY, consts.OPCODE_NOTIFY)
# A reply to a packet that is refused as a whole copies these header bits, as other servers do.
_ECHOED_BITS = consts.TC | consts.RD | consts.RA | consts.AD | consts.CD


class Query:
    """One query as it arrived.

    `qname` is the wire name as sent, `name` the same in lower case, `starts` the offsets in it at which labels start
    (the root's included), `end` the offset behind the question in `wire`, `opt` the OPT record or None.
    """

    __slots__ = ("end", "flags", "id", "name", "opt", "qclass", "qname", "qtype", "starts", "wire")

    def __init__(
        self,
        wire: bytes,
        message_id: int,
        flags: int,
        qname: bytes,
        qtype: int,
        qclass: int,
        opt: Opt | None = None,
        starts: list[int] | None = None,
    ) -> None:
        self.wire = wire
        self.id = message_id
        self.flags = flags
        self.qname = qname
        self.name = qname.lower()
        self.qtype = qtype
        self.qclass = qclass
        self.end = _HEADER_SIZE + len(qname) + 4
        self.opt = opt
        self.starts = label_starts(qname) if starts is None else starts

    def within(self, zone: bytes) -> bool:
        """True if the name equals the (lower-case) zone or lies below it."""
        name = self.name
        return name.endswith(zone) and len(name) - len(zone) in self.starts

    @property
    def opcode(self) -> int:
        """QUERY (0) or NOTIFY (4)."""
        return (self.flags & consts.OPCODE_MASK) >> 11

    @property
    def do(self) -> bool:
        """True if the client asked for DNSSEC records (RFC 3225)."""
        return self.opt is not None and self.opt.do

    @property
    def question(self) -> bytes:
        """The question section as sent."""
        return self.wire[_HEADER_SIZE : self.end]

    def asking(self, qname: bytes, qtype: int, qclass: int = consts.CLASS_IN) -> Query:
        """The same query with another question; id, flags and EDNS are kept."""
        header = _HEADER.pack(self.id, self.flags, 1, 0, 0, 0)
        wire = header + qname + _TYPE_CLASS.pack(qtype, qclass)
        return Query(wire, self.id, self.flags, qname, qtype, qclass, self.opt)


def parse_query(wire: bytes) -> Query:
    """One packet (UDP payload or TCP message) to a Query. Raises Rejected."""
    size = len(wire)
    if size < _HEADER_SIZE:
        raise Rejected(None)
    message_id, flags, qd, an, ns, ar = _HEADER.unpack_from(wire)
    if flags & consts.QR:  # never answer a response: two servers would talk forever
        raise Rejected(None)
    if (flags & consts.OPCODE_MASK) >> 11 not in _KNOWN_OPCODES:
        raise Rejected(_refusal(message_id, flags, consts.NOTIMP))
    if qd != 1 or an > 1 or ns > 1 or ar > 2:
        raise Rejected(_refusal(message_id, flags & ~consts.OPCODE_MASK, consts.FORMERR))
    if size == _HEADER_SIZE:
        raise Rejected(_refusal(message_id, flags, consts.SERVFAIL))
    i = _HEADER_SIZE
    starts = []
    try:
        while length := wire[i]:
            starts.append(i - _HEADER_SIZE)
            i += length + 1
            if length > 63 or i >= _MAX_NAME_END:
                raise Rejected(_refusal(message_id, flags & ~consts.OPCODE_MASK, consts.FORMERR))
        starts.append(i - _HEADER_SIZE)
        i += 1
        qtype, qclass = _TYPE_CLASS.unpack_from(wire, i)
    except (IndexError, struct.error):
        raise Rejected(_refusal(message_id, flags & ~consts.OPCODE_MASK, consts.FORMERR)) from None
    opt = None
    if ar or an or ns:
        try:
            opt = _find_opt(wire, i + 4, an + ns, ar)
        except FormErr:
            question = wire[_HEADER_SIZE : i + 4]
            raise Rejected(_refusal(message_id, flags & ~consts.OPCODE_MASK, consts.FORMERR, question)) from None
    return Query(wire, message_id, flags, wire[_HEADER_SIZE:i], qtype, qclass, opt, starts)


def _refusal(message_id: int, flags: int, rcode: int, question: bytes = b"") -> bytes:
    bits = consts.QR | flags & (consts.OPCODE_MASK | _ECHOED_BITS) | rcode
    return _HEADER.pack(message_id, bits, 1 if question else 0, 0, 0, 0) + question


def _find_opt(wire: bytes, i: int, before: int, additional: int) -> Opt | None:
    """The last OPT of the additional section; sections cut short by the packet's end are tolerated."""
    size = len(wire)
    opt = None
    for n in range(before + additional):
        if i >= size:
            break
        root = wire[i] == 0
        i = _skip_name(wire, i)
        if i + 10 > size:
            raise FormErr("record cut short")
        rtype, rclass, ttl, rdlength = _RR_FIXED.unpack_from(wire, i)
        i += 10
        if i + rdlength > size:
            raise FormErr("rdata cut short")
        if rtype == consts.TYPE_OPT and n >= before:
            if not root:
                raise FormErr("OPT not at the root")
            options = parse_options(wire[i : i + rdlength]) if rdlength else ()
            opt = Opt(rclass, ttl >> 16 & 0xFF, ttl & 0xFFFF, options)
        i += rdlength
    return opt


def _skip_name(wire: bytes, i: int) -> int:
    try:
        while length := wire[i]:
            if length >= 0xC0:
                return i + 2
            if length > 63:
                raise FormErr("label type not known")
            i += length + 1
    except IndexError:
        raise FormErr("name cut short") from None
    return i + 1
