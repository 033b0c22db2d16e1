"""Entries of caches as rows for people and programs."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Iterable
from typing import Final, NamedTuple

from waypost.dispatch.handler import CacheAdmin, CacheEntry
from waypost.plugins.waypost.arguments import Selection
from waypost.wire import consts, names

# So many rows are made before DNS gets a turn.
_SLICE: Final = 200


class Row(NamedTuple):
    """One entry; rows sort by name, then type. Times in seconds."""

    name: str
    type: str
    class_: str
    do: bool
    cd: bool
    kind: str
    rcode: str
    ttl: int
    age: int
    stale: bool
    records: int


_FIELDS: Final = tuple(field.removesuffix("_") for field in Row._fields)


async def listing(
    caches: Iterable[CacheAdmin], chosen: Selection, limit: int
) -> tuple[list[dict[str, str | int]], int]:
    """The first `limit` chosen entries of all caches in order, by the fields of `Row`, and how many there are."""
    rows: list[Row] = []
    for cache in caches:
        for entry in cache.cached(chosen.name, below=chosen.below):
            rows.append(_row(entry))
            if len(rows) % _SLICE == 0:
                await asyncio.sleep(0)
    return [dict(zip(_FIELDS, row, strict=True)) for row in heapq.nsmallest(limit, rows)], len(rows)


def _row(entry: CacheEntry) -> Row:
    return Row(
        names.to_text(entry.name),
        consts.type_text(entry.qtype),
        consts.class_text(entry.qclass),
        entry.do,
        entry.cd,
        "denial" if entry.denial else "success",
        consts.rcode_text(entry.rcode),
        entry.ttl,
        entry.age,
        entry.stale,
        entry.records,
    )
