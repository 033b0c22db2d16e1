"""What an object takes in memory, as Python's allocator sees it: many are made, and what is left counts."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Callable

import msgspec
from kubeapi import endpoint_slice, service
from loads import service_name

from waypost.cluster.index import Index
from waypost.cluster.objects import EndpointSlice, Service
from waypost.dispatch.memo import Memo
from waypost.plugins.cache.config import Config
from waypost.plugins.cache.item import Item
from waypost.plugins.cache.key import key_tail
from waypost.plugins.cache.store import Store
from waypost.wire import consts, names
from waypost.wire.record import Record
from waypost.wire.reply import Reply

MANY = 8_192
ENDPOINTS = 10
_TTL = 3600


def bytes_each(many: int = MANY) -> dict[str, float]:
    """Bytes an object by its kind, when there are so many of them."""
    first = _slices(many, 1)
    full = _slices(many, ENDPOINTS)
    return {
        "Service": _taken(many, lambda: _services(many)),
        "EndpointSlice with one endpoint": first,
        "each further endpoint": (full - first) / (ENDPOINTS - 1),
        "cached name, asked for once": _taken(many, lambda: _cached(many, asked_again=False)),
        "cached name, asked for again": _taken(many, lambda: _cached(many, asked_again=True)),
        "memo entry": _taken(many, lambda: _remembered(many)),
    }


def _slices(many: int, endpoints: int) -> float:
    def make() -> Index:
        index = Index(lambda: 0.0)
        for n in range(many):
            item = endpoint_slice(n, n * endpoints, endpoints)
            index.sinks["EndpointSlice"].changed(msgspec.convert(item, EndpointSlice))
        return index

    return _taken(many, make)


def _services(many: int) -> Index:
    index = Index(lambda: 0.0)
    for n in range(many):
        index.sinks["Service"].changed(msgspec.convert(service(n), Service))
    return index


def _cached(many: int, *, asked_again: bool) -> Store:
    store = Store(Config(), random.Random(1))
    keys = []
    for n in range(many):
        name = names.from_text(f"host-{n}.example.com.")
        reply = Reply(consts.NOERROR, 0, (Record(name, consts.TYPE_A, consts.CLASS_IN, _TTL, n.to_bytes(4, "big")),))
        keys.append(name + key_tail(consts.TYPE_A, consts.CLASS_IN, 0))
        store.put(keys[-1], Item(reply, 0.0, _TTL, _TTL), denial=False)
    for key in keys if asked_again else ():
        store.success.get(key)
    return store


def _remembered(many: int) -> Memo:
    memo = Memo()
    for n in range(many):
        name = names.from_text(service_name(n) + ".")
        packet = b"\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + name + b"\x00\x01\x00\x01"
        reply = Reply(consts.NOERROR, 0, depends=(name[: -len(names.from_text("svc.cluster.local."))],))
        memo.keep(packet, packet + bytes(16 + len(name)), reply, ())
    return memo


def _taken(many: int, make: Callable[[], object]) -> float:
    """Bytes of what is made, for each of the many; it is made once beforehand, for what is made only once."""
    make()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = make()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del made
    return size / many
