"""The pages under /debug/pprof: which there are, what each takes, and that one measures at a time."""

from __future__ import annotations

import asyncio
import html
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from waypost.httpd.join import FIRST
from waypost.httpd.message import PLAIN, HttpHandler, HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer
from waypost.plugins.pprof import cpu, heap, sampling, stacks
from waypost.plugins.pprof.cpu import Unavailable

PATH: Final = "/debug/pprof"
_HTML: Final = "text/html; charset=utf-8"
_BINARY: Final = "application/octet-stream"
_DEFAULT_SECONDS: Final = 10
# The HTTP server ends a connection after a minute.
_MAX_SECONDS: Final = 45
_NANOSECONDS: Final = 1e-9


class Measured(NamedTuple):
    """What a measurement gave: Content-Type, body, and the name of the file to keep it in."""

    content_type: str
    body: bytes
    file: str


Measure = Callable[[int], Awaitable[Measured]]
"""Takes the seconds to measure."""


class Page(NamedTuple):
    """What it shows, how to make it in each format, the first one by default, and whether it takes its time."""

    about: str
    formats: Mapping[str, Measure]
    measures: bool = True


class Endpoint:
    """The pages at one address."""

    __slots__ = ("_measuring", "_pages", "_routes", "_server")

    def __init__(self, server: HttpServer, measuring: asyncio.Lock, block_rate: int) -> None:
        self._server = server
        self._measuring = measuring
        self._pages = dict(_PAGES)
        if block_rate > 0:
            self._pages["block"] = _block_page(block_rate * _NANOSECONDS)
        # Methods throughout: a successor's routes must not be taken for ours when we stop.
        self._routes: dict[str, HttpHandler] = {
            PATH: self._to_index,
            f"{PATH}/": self._index,
            f"{PATH}/cmdline": self._cmdline,
        }
        self._routes |= {f"{PATH}/{name}": self._page for name in self._pages}

    def activate(self) -> None:
        """Answer from now on."""
        for path, handler in self._routes.items():
            self._server.set_route(path, handler, FIRST)

    def stop(self) -> None:
        """Stop answering."""
        for path, handler in self._routes.items():
            self._server.remove_route(path, handler)

    def _to_index(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(302, PLAIN, b"", (("Location", f"{PATH}/"),))

    def _cmdline(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(200, PLAIN, "\0".join(sys.orig_argv).encode(errors="surrogateescape"))

    def _index(self, request: HttpRequest) -> HttpResponse:
        rows = "".join(
            f'<tr><td><a href="{name}">{name}</a></td><td>{html.escape(page.about)}</td>'
            f"<td>{' '.join(page.formats)}</td></tr>\n"
            for name, page in sorted(self._pages.items())
        )
        body = (
            f"<!doctype html>\n<title>{PATH}/</title>\n<h1>{PATH}/</h1>\n"
            f"<p>Each page takes <code>?seconds=N</code> (1 to {_MAX_SECONDS}, by default {_DEFAULT_SECONDS}) and "
            "<code>&amp;format=FORMAT</code>.</p>\n"
            f"<table>\n<tr><th>page</th><th>shows</th><th>formats</th></tr>\n{rows}</table>\n"
            '<p><a href="cmdline">cmdline</a>: the words that the process was started with.</p>\n'
        )
        return HttpResponse(200, _HTML, body.encode())

    async def _page(self, request: HttpRequest) -> HttpResponse:
        page = self._pages[request.path.removeprefix(f"{PATH}/")]
        asked = dict(parse_qsl(request.query))
        form = asked.get("format") or next(iter(page.formats))
        measure = page.formats.get(form)
        if measure is None:
            return plain(400, f"format: expected one of {', '.join(page.formats)}\n")
        text = asked.get("seconds", str(_DEFAULT_SECONDS))
        if not (text.isascii() and text.isdigit() and len(text) < 4 and 1 <= int(text) <= _MAX_SECONDS):
            return plain(400, f"seconds: expected a whole number from 1 to {_MAX_SECONDS}\n")
        try:
            measured = await (self._alone(measure, int(text)) if page.measures else measure(int(text)))
        except Unavailable as exc:
            return plain(503, f"{exc}\n")
        disposition = (("Content-Disposition", f'attachment; filename="{measured.file}"'),) if measured.file else ()
        return HttpResponse(200, measured.content_type, measured.body, disposition)

    async def _alone(self, measure: Measure, seconds: int) -> Measured:
        if self._measuring.locked():
            raise Unavailable("another profile is being taken")
        async with self._measuring:
            return await measure(seconds)


async def _calls(seconds: int) -> Measured:
    return Measured(_BINARY, cpu.as_pstats(await cpu.count_calls(seconds)), "profile.pstats")


async def _calls_text(seconds: int) -> Measured:
    return Measured(PLAIN, cpu.as_text(await cpu.count_calls(seconds)), "")


async def _samples(seconds: int) -> Measured:
    return Measured(PLAIN, stacks.folded(await sampling.sample(seconds)), "")


async def _speedscope(seconds: int) -> Measured:
    return Measured("application/json", await cpu.py_spy(seconds, "speedscope"), "profile.speedscope.json")


async def _flame_graph(seconds: int) -> Measured:
    return Measured("image/svg+xml", await cpu.py_spy(seconds, "flamegraph"), "")


async def _heap_text(seconds: int) -> Measured:
    return Measured(PLAIN, await asyncio.to_thread(heap.as_text, await heap.kept(seconds)), "")


async def _heap_folded(seconds: int) -> Measured:
    weights = await asyncio.to_thread(heap.by_stack, await heap.kept(seconds))
    return Measured(PLAIN, stacks.folded(weights), "")


async def _waiting_text(seconds: int) -> Measured:
    return Measured(PLAIN, stacks.text(*stacks.everything()), "")


async def _waiting_folded(seconds: int) -> Measured:
    tasks, threads = stacks.everything()
    return Measured(PLAIN, stacks.folded({**tasks, **dict.fromkeys(threads.values(), 1)}), "")


def _block_page(shortest: float) -> Page:
    async def holds(seconds: int) -> Measured:
        return Measured(PLAIN, stacks.folded(await sampling.sample_holds(seconds, shortest)), "")

    return Page("what kept the event loop from turning, in milliseconds", {"folded": holds})


_PAGES: Final[Mapping[str, Page]] = {
    "profile": Page(
        "what the time is spent on: every call counted (pstats, text), or stacks seen (the others)",
        {
            "pstats": _calls,
            "text": _calls_text,
            "folded": _samples,
            "speedscope": _speedscope,
            "flamegraph": _flame_graph,
        },
    ),
    "heap": Page("what is allocated meanwhile and kept, in bytes", {"text": _heap_text, "folded": _heap_folded}),
    "goroutine": Page("where every task and thread is, now", {"text": _waiting_text, "folded": _waiting_folded}, False),
}
