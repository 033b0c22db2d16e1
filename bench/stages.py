"""Where a query's time goes: every stage of its way timed by itself, in this process, over many queries.

No profiler looks on, for it would weigh small functions more than large ones: a stage is a loop over thousands of
queries by the thread's CPU clock, and the best of several such loops counts. What a plugin takes is the difference
between the chain that begins with it and the one that begins behind it.
"""

from __future__ import annotations

import asyncio
import io
import socket
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, cast

import dns.message
from processes import free_port
from servers import Around, corefile

from waypost.control.files import Source
from waypost.control.supervisor import Settings, Supervisor
from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.pending import Pending
from waypost.dispatch.request import Address, Request
from waypost.dispatch.serve import Server
from waypost.listeners.datagrams import datagrams
from waypost.log import Log
from waypost.toolkit.mmsg import BATCH
from waypost.wire.fit import pack
from waypost.wire.query import parse_query
from waypost.wire.reply import Reply

QUERIES = 4096
_REPEATS = 5
_CLIENT = ("127.0.0.1", 40_000)
_RECEIVE_BUFFER = 4 * 1024 * 1024

Stages = dict[str, float]
"""Microseconds a query, in the order of the way."""


class Way(NamedTuple):
    """A load's queries on their way: what leads to the chain, the chain from each of its handlers on, what follows.

    `memo` is what the memo takes for a query that came before, None if it keeps none. `whole` is all of it at once,
    from receiving to sending, for queries that are new and for those that came before; what must wait has none.
    """

    before: Stages
    chain: Stages
    after: Stages
    memo: float | None
    whole: tuple[float | None, float | None] = (None, None)

    def stages(self) -> Stages:
        """Each by itself: a handler takes what the chain does from it on, less what it does from the next one on."""
        behind = [*list(self.chain.values())[1:], 0.0]
        own = {name: max(now - then, 0.0) for (name, now), then in zip(self.chain.items(), behind, strict=True)}
        return {**self.before, **own, **self.after}


def lowest(ways: Sequence[Way]) -> Way:
    """The best time of each part in several passes: whatever else runs on a machine only makes them longer."""
    before, chain, after = (
        {name: min(part.get(name, inf) for part in parts) for name in parts[0]}
        for parts in (tuple(getattr(way, field) for way in ways) for field in ("before", "chain", "after"))
    )
    memo, new, again = (
        min((value for value in values if value is not None), default=None)
        for values in zip(*((way.memo, *way.whole) for way in ways), strict=True)
    )
    return Way(before, chain, after, memo, (new, again))


def profile(folder: Path, around: Around, load: str, questions: Path, queries: int = QUERIES) -> Way:
    """The way of a load's first so many queries through the stock Corefile."""
    conf = folder / f"Corefile-{load}"
    text = corefile(free_port(), around.upstream, around.api, cache=load != "forwarded")
    conf.write_text(text.replace("lameduck 5s", "lameduck 0s"), encoding="utf-8")
    wires = list(map(_wire, questions.read_text(encoding="utf-8").splitlines()[: 2 * queries]))
    return asyncio.run(_profile(Settings(Source(str(conf))), wires, queries))


async def _profile(settings: Settings, wires: Sequence[bytes], queries: int) -> Way:
    supervisor = Supervisor(settings, Log(io.StringIO()), lambda code: None)
    instance = await supervisor.start()
    try:
        server = next(iter(instance.plan.servers.values()))
        warm = list(dict.fromkeys(wires[:queries]))
        replies = await _served(server, _chain(server)[0], warm)  # caches are filled; the memo knows of none
        # Names that nobody has asked for yet, where the load has enough of them.
        fresh = list(dict.fromkeys(wires[queries:])) if len(wires) >= 2 * queries else warm
        new = _whole(server, fresh)
        way = await _new_queries(server, warm, replies)
        memo = await _asked_again(server, warm)
        return way._replace(memo=memo, whole=(new, None if memo is None else _whole(server, warm)))
    finally:
        await supervisor.stop(graceful=True)


async def _new_queries(server: Server, wires: Sequence[bytes], replies: Sequence[Reply]) -> Way:
    memo = server.memos[0]
    queries, requests = [parse_query(wire) for wire in wires], _requests(server, wires)
    before = {
        "receive": 0.0,
        "recall": _best(lambda wire: memo.recall(wire, time.perf_counter(), _client_of), wires),
        "parse": _best(parse_query, wires),
        "request": _best(lambda query: Request(query, _CLIENT, server, True, time.perf_counter()), queries),
        "zone match": _best(server.zones.match, requests),
        "first time?": _best(memo.came_before, wires),
    }
    handlers = await _reached(server, _chain(server), wires)
    times = await _serving(server, handlers, wires)
    chain = {handler.name: now for handler, (now, _) in zip(handlers, times, strict=True)}
    pairs = list(zip(queries, replies, strict=True))
    after = {"upstream and back": times[0][1]} if times[0][1] else {}
    after["pack"] = _best(lambda pair: pack(pair[0], pair[1], datagram=True), pairs)
    answers = dict(zip(wires, (pack(query, reply, datagram=True) for query, reply in pairs), strict=True))
    before["receive"], after["send"] = _sockets(wires, answers.get)
    return Way(before, chain, after, None)


def _whole(server: Server, wires: Sequence[bytes]) -> float | None:
    """What a query takes from receiving to sending, as a listener does it; None for queries that must wait."""
    recall = server.memos[0].recall

    def answer(wire: bytes) -> bytes | None:
        known = recall(wire, time.perf_counter(), _client_of)
        if isinstance(known, bytes):
            return known
        made = server.serve(wire, _CLIENT, True)
        if isinstance(made, Pending):
            made.finish(lambda messages: None, lambda error: None)
        return made if isinstance(made, bytes) else None

    return sum(_sockets(wires, answer)) if isinstance(answer(wires[0]), bytes) else None


async def _asked_again(server: Server, wires: Sequence[bytes]) -> float | None:
    for _ in range(2):  # a packet is kept at its second coming
        for wire in wires:
            answer = server.serve(wire, _CLIENT, True)
            if not isinstance(answer, bytes | tuple | None):
                await answer
    recall = server.memos[0].recall
    kept = [wire for wire in wires if isinstance(recall(wire, time.perf_counter(), _client_of), bytes)]
    if len(kept) <= len(wires) / 2:
        return None
    return _best(lambda wire: recall(wire, time.perf_counter(), _client_of), kept)


def _sockets(wires: Sequence[bytes], answer: Callable[[bytes], bytes | None]) -> tuple[float, float]:
    """Microseconds of receiving, and of making answers and sending them, when the batches are full."""
    received, sent = [], []
    with _datagram_socket() as listening, _datagram_socket() as client:
        client.connect(listening.getsockname())
        ours = datagrams(listening)
        for start in range(0, max(len(wires) - BATCH, 0) + 1, BATCH):
            for wire in wires[start : start + BATCH]:
                client.send(wire)
            began = time.thread_time()
            packets = ours.receive()
            between = time.thread_time()
            ours.send([answer(packet) for packet in packets])
            ended = time.thread_time()
            for _ in packets:
                client.recv(4096)
            received.append((between - began) / len(packets))
            sent.append((ended - between) / len(packets))
    return statistics.median(received) * 1e6, statistics.median(sent) * 1e6


async def _serving(server: Server, chain: Sequence[Handler], wires: Sequence[bytes]) -> list[tuple[float, float]]:
    """For the chain from each handler on: microseconds until it answers or waits, and after that until it answers."""
    rounds = [[await _one_loop(server, handler, wires) for handler in chain] for _ in range(_REPEATS)]
    return [min(times, key=sum) for times in zip(*rounds, strict=True)]


async def _one_loop(server: Server, handler: Handler, wires: Sequence[bytes]) -> tuple[float, float]:
    now = later = 0.0
    for start in range(0, len(wires), BATCH):
        requests = _requests(server, wires[start : start + BATCH])
        began = time.thread_time()
        outcomes = [handler.serve(request) for request in requests]
        between = time.thread_time()
        now += between - began
        if any(type(outcome) is not Reply for outcome in outcomes):
            await _settled(outcomes)
            later += time.thread_time() - between
    return now / len(wires) * 1e6, later / len(wires) * 1e6


async def _served(server: Server, handler: Handler, wires: Sequence[bytes]) -> list[Reply]:
    replies = []
    for start in range(0, len(wires), BATCH):
        requests = _requests(server, wires[start : start + BATCH])
        replies += await _settled([handler.serve(request) for request in requests])
    return replies


async def _settled(outcomes: Sequence[Outcome]) -> list[Reply]:
    """The replies; those of a `Pending` come by its callback, as they do in a listener."""
    loop = asyncio.get_running_loop()
    waits: list[Reply | Awaitable[Reply]] = []
    for outcome in outcomes:
        if isinstance(outcome, Pending):
            future: asyncio.Future[Reply] = loop.create_future()
            outcome.finish(future.set_result, future.set_exception)
            waits.append(future)
        else:
            waits.append(outcome)
    return [wait if isinstance(wait, Reply) else await wait for wait in waits]


class _Spy:
    """Stands before a handler and sees whether a query gets there."""

    def __init__(self, handler: Handler) -> None:
        self.name = handler.name
        self.next = handler
        self.calls = 0

    def serve(self, request: Request) -> Outcome:
        self.calls += 1
        return self.next.serve(request)


async def _reached(server: Server, chain: Sequence[Handler], wires: Sequence[bytes]) -> list[Handler]:
    """The handlers that most of the queries come to."""
    spies = [_Spy(handler) for handler in chain]
    for before, spy in zip(chain, spies[1:], strict=False):
        before.next = cast(Handler, spy)
    try:
        await _served(server, cast(Handler, spies[0]), wires)
    finally:
        for before, after in pairwise(chain):
            before.next = after
    return [handler for handler, spy in zip(chain, spies, strict=True) if spy.calls > len(wires) / 2]


def _chain(server: Server) -> list[Handler]:
    site = server.zones.all_sites()[0]
    assert site.chain is not None
    handlers = [site.chain]
    while handlers[-1].next.name:
        handlers.append(handlers[-1].next)
    return handlers


def _requests(server: Server, wires: Sequence[bytes]) -> list[Request]:
    site = server.zones.all_sites()[0]
    requests = [Request(parse_query(wire), _CLIENT, server, True, time.perf_counter()) for wire in wires]
    for request in requests:
        request.site = site
    return requests


def _best(function: Callable[[Any], object], items: Sequence[Any]) -> float:
    """Microseconds a call, in the best of several loops."""
    times = []
    for _ in range(_REPEATS):
        began = time.thread_time()
        for item in items:
            function(item)
        times.append(time.thread_time() - began)
    return min(times) / len(items) * 1e6


def _client_of(number: int) -> Address:
    return _CLIENT


def _wire(line: str) -> bytes:
    name, kind = line.split()
    return dns.message.make_query(name, kind, id=0x1234).to_wire()


def _datagram_socket() -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
    sock.bind(("127.0.0.1", 0))
    sock.settimeout(2.0)
    return sock
