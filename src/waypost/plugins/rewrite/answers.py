"""Changes of a reply's records: owners, the names in their data, TTLs, and the targets of CNAMEs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from waypost.dispatch.handler import Outcome, then
from waypost.plugins.rewrite.asked import Asked
from waypost.plugins.rewrite.renaming import NameChange
from waypost.wire import consts
from waypost.wire.errors import BadName
from waypost.wire.rdata import LAYOUTS, NAME, TEXT, name_end
from waypost.wire.record import Record, Records
from waypost.wire.reply import Reply

_NAPTR: Final = 35
_WITH_NAMES: Final = frozenset(
    (
        consts.TYPE_CNAME,
        consts.TYPE_DNAME,
        consts.TYPE_MX,
        _NAPTR,
        consts.TYPE_NS,
        consts.TYPE_PTR,
        consts.TYPE_SOA,
        consts.TYPE_SRV,
    )
)


def with_owners(reply: Reply, change: NameChange) -> Reply:
    """The reply with the owners of its records changed."""
    known: dict[bytes, bytes] = {}

    def renamed(record: Record) -> Record:
        owner = record.owner
        new = known.get(owner)
        if new is None:
            new = known[owner] = _changed(owner, change)
        return record if new is owner else Record(new, *record[1:])

    return _each(reply, renamed)


def with_values(reply: Reply, change: NameChange) -> Reply:
    """The reply with the name changed that the data of a record holds; of an SOA, the name server's."""

    def renamed(record: Record) -> Record:
        if record.rtype not in _WITH_NAMES:
            return record
        rdata = record.rdata
        start = _name_start(rdata, LAYOUTS[record.rtype])
        end = name_end(rdata, start)
        old = rdata[start:end]
        new = _changed(old, change)
        return record if new is old else Record(*record[:4], rdata[:start] + new + rdata[end:])

    return _each(reply, renamed)


def with_ttl(reply: Reply, lowest: int, highest: int) -> Reply:
    """The reply with every TTL within these bounds, in seconds."""

    def clamped(record: Record) -> Record:
        ttl = min(max(record.ttl, lowest), highest)
        return record if ttl == record.ttl else Record(*record[:3], ttl, record.rdata)

    return _each(reply, clamped)


def with_target(reply: Reply, change: NameChange, asked: Asked) -> Outcome:
    """The reply with the first CNAME that fits changed; what the server answers for the new target follows it."""
    for n, record in enumerate(reply.answer):
        if record.rtype != consts.TYPE_CNAME:
            continue
        try:
            target = change(record.rdata)
        except BadName:
            continue
        if target is None:
            continue
        kept = (*reply.answer[:n], Record(*record[:4], target))

        def joined(found: Reply, kept: Records = kept) -> Reply:
            return reply.replace(
                flags=reply.flags | found.flags & consts.TC,
                answer=(*kept, *found.answer),
                depends=(*reply.depends, *found.depends),
            )

        return then(asked.request.lookup(target, asked.qtype), joined)
    return reply


def _changed(name: bytes, change: NameChange) -> bytes:
    """The changed name; the same one if it does not fit, or if no valid name would come out."""
    try:
        new = change(name)
    except BadName:
        return name
    return name if new is None else new


def _each(reply: Reply, change: Callable[[Record], Record]) -> Reply:
    """The reply with every record changed, those of further messages too; itself if none is."""
    answer = _section(reply.answer, change)
    authority = _section(reply.authority, change)
    additional = _section(reply.additional, change)
    more = tuple(_each(message, change) for message in reply.more) if reply.more else ()
    if answer is reply.answer and authority is reply.authority and additional is reply.additional and not more:
        return reply
    return reply.replace(answer=answer, authority=authority, additional=additional, more=more)


def _section(records: Records, change: Callable[[Record], Record]) -> Records:
    """The records changed; the same tuple if none of them is."""
    if not records:
        return records
    out = tuple(map(change, records))
    for new, old in zip(out, records, strict=True):
        if new is not old:
            return out
    return records


def _name_start(rdata: bytes, layout: tuple[int, ...]) -> int:
    """The offset of the first name in the data of a record."""
    i = 0
    for step in layout:
        if step == NAME:
            break
        i += rdata[i] + 1 if step == TEXT else step
    return i
