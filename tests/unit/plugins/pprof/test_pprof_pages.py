"""The pages of pprof over HTTP, each format judged by what reads it elsewhere."""

from __future__ import annotations

import asyncio
import cProfile
import json
import pstats
import signal
import socket
import sys
import threading
import time
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest

from support.chain import FakeProcess, make_directive, make_site, run
from support.upstream import until
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Site
from waypost.httpd.server import HttpServer
from waypost.plugins.pprof.setup import setup

ADDRESS = "127.0.0.1:0"


class Got(NamedTuple):
    status: int
    content_type: str
    body: bytes
    location: str = ""


class Pages:
    """A configuration with `pprof` that serves."""

    def __init__(self, options: str = "") -> None:
        self.process = FakeProcess()
        self.site = self.configure(options)

    def configure(self, options: str = "") -> Site:
        site = make_site(process=self.process)
        setup(make_directive(f"pprof {ADDRESS} {options}"), site)
        return site

    @property
    def http(self) -> HttpServer:
        found = self.process.lender.lent["http", ADDRESS]
        assert isinstance(found, HttpServer)
        return found

    async def get(self, path: str) -> Got:
        url = f"http://127.0.0.1:{self.http.port}/debug/pprof{path}"
        async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False) as response:
            headers = response.headers
            return Got(response.status, headers["Content-Type"], await response.read(), headers.get("Location", ""))


@pytest.fixture
async def pages() -> AsyncIterator[Pages]:
    found = Pages("{\n block 30000000\n}")
    await run(found.site.hooks.start + found.site.hooks.active)
    yield found
    await run(found.site.hooks.stop)
    await found.http.close()


def stacks(body: bytes) -> dict[tuple[str, ...], int]:
    """Folded stacks, as flame graph tools read them."""
    found = {}
    for line in body.decode().splitlines():
        stack, _, weight = line.rpartition(" ")
        found[tuple(stack.split(";"))] = int(weight)
    return found


async def busy_loop(ended: asyncio.Event, *, hold: float = 0.0) -> None:
    """Something to be seen: work between short waits, and with `hold` a wait that holds the loop."""
    while not ended.is_set():
        work_hard()
        if hold:
            hold_the_loop(hold)
        await asyncio.sleep(0.001)


def work_hard() -> int:
    return sum(number * number for number in range(20_000))


def hold_the_loop(seconds: float) -> None:
    time.sleep(seconds)


async def measured(pages: Pages, path: str, *, hold: float = 0.0) -> Got:
    """A page while the loop is busy."""
    ended = asyncio.Event()
    task = asyncio.create_task(busy_loop(ended, hold=hold))
    got = await pages.get(path)
    ended.set()
    await task
    assert got.status == 200, got
    return got


async def test_index_and_command_line(pages: Pages) -> None:
    assert (await pages.get(""))[::3] == (302, "/debug/pprof/")
    index = await pages.get("/")
    assert (index.status, index.content_type) == (200, "text/html; charset=utf-8")
    assert all(f'href="{name}"'.encode() in index.body for name in ("profile", "heap", "goroutine", "block", "cmdline"))
    assert (await pages.get("/cmdline")).body.split(b"\0") == [word.encode() for word in sys.orig_argv]
    assert (await pages.get("/symbol")).status == 404


async def test_counted_calls_are_a_pstats_file(pages: Pages, tmp_path: Path) -> None:
    got = await measured(pages, "/profile?seconds=1")
    assert got.content_type == "application/octet-stream"
    path = tmp_path / "profile.pstats"
    path.write_bytes(got.body)
    counted = pstats.Stats(str(path)).get_stats_profile().func_profiles
    assert int(counted["work_hard"].ncalls) > 1
    assert sys.getprofile() is None


async def test_counted_calls_as_text(pages: Pages) -> None:
    body = (await measured(pages, "/profile?seconds=1&format=text")).body
    assert b"cumulative" in body
    assert b"work_hard" in body


async def test_samples_are_folded_stacks(pages: Pages) -> None:
    found = stacks((await measured(pages, "/profile?seconds=1&format=folded")).body)
    ours = [stack for stack in found if any(label.endswith(":work_hard") for label in stack)]
    assert ours, found
    assert signal.getsignal(signal.SIGPROF) == signal.SIG_IGN
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


async def test_what_holds_the_loop(pages: Pages) -> None:
    found = stacks((await measured(pages, "/block?seconds=1", hold=0.1)).body)
    holding = sum(weight for stack, weight in found.items() if stack[-1].endswith(":hold_the_loop"))
    assert holding >= 100  # of about 1000 ms


async def test_shorter_holds_are_left_out(pages: Pages) -> None:
    found = stacks((await measured(pages, "/block?seconds=1")).body)
    assert sum(found.values()) < 500


async def test_block_must_be_asked_for() -> None:
    plain = Pages()
    await run(plain.site.hooks.start + plain.site.hooks.active)
    assert (await plain.get("/block")).status == 404
    await run(plain.site.hooks.stop)
    await plain.http.close()


@pytest.mark.parametrize("form", ["text", "folded"])
async def test_heap(pages: Pages, form: str) -> None:
    kept: list[bytes] = []

    async def keep() -> None:
        while True:
            kept.append(bytes(10_000))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(keep())
    body = (await pages.get(f"/heap?seconds=1&format={form}")).body
    task.cancel()
    assert not tracemalloc.is_tracing()
    here = Path(__file__).name.encode()
    if form == "text":
        assert body.startswith(b"resident: ")
        line = next(line for line in body.splitlines() if here in line)
        assert int(line.split()[0]) > 100_000
    else:
        weights = [weight for stack, weight in stacks(body).items() if stack[-1].startswith(here.decode())]
        assert sum(weights) > 100_000


async def test_where_tasks_and_threads_are(pages: Pages) -> None:
    ended = asyncio.Event()

    async def wait_for_it() -> None:
        await ended.wait()

    tasks = [asyncio.create_task(wait_for_it()) for _ in range(3)]
    thread = threading.Thread(target=threading.Event().wait, args=(5,), name="a thread", daemon=True)
    thread.start()
    body = (await pages.get("/goroutine")).body.decode()
    found = stacks((await pages.get("/goroutine?format=folded")).body)
    ended.set()
    await asyncio.gather(*tasks)
    paragraph = next(each for each in body.split("\n\n") if "wait_for_it" in each)
    assert paragraph.startswith("3 x\n")
    assert "asyncio.locks:Event.wait:" in paragraph
    assert "a thread (" in body
    assert [weight for stack, weight in found.items() if "wait_for_it" in stack[0]] == [3]


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("seconds=0", "seconds: expected a whole number from 1 to 45\n"),
        ("seconds=46", "seconds: expected a whole number from 1 to 45\n"),
        ("seconds=-1", "seconds: expected a whole number from 1 to 45\n"),
        ("seconds=1e9", "seconds: expected a whole number from 1 to 45\n"),
        (f"seconds={'9' * 5000}", "seconds: expected a whole number from 1 to 45\n"),
        ("seconds=%D9%A1", "seconds: expected a whole number from 1 to 45\n"),
        ("format=svg", "format: expected one of pstats, text, folded, speedscope, flamegraph\n"),
    ],
)
async def test_what_cannot_be_measured(pages: Pages, query: str, complaint: str) -> None:
    got = await pages.get(f"/profile?{query}")
    assert (got.status, got.body.decode()) == (400, complaint)


async def test_one_measures_at_a_time(pages: Pages) -> None:
    first = asyncio.create_task(pages.get("/heap?seconds=1"))
    await until(tracemalloc.is_tracing)
    second = await pages.get("/profile?seconds=1")
    assert (second.status, second.body) == (503, b"another profile is being taken\n")
    assert (await pages.get("/goroutine")).status == 200
    assert (await first).status == 200


async def test_another_profiler_is_told_of(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    class Taken(cProfile.Profile):
        def enable(self, *args: object, **kwargs: object) -> None:
            raise ValueError("Another profiling tool is already active")

    monkeypatch.setattr(cProfile, "Profile", Taken)
    got = await pages.get("/profile?seconds=1")
    assert (got.status, got.body) == (503, b"Another profiling tool is already active\n")


FAKE_PY_SPY = """#!{python}
import json, sys
words = sys.argv[1:]
with open(words[words.index("--output") + 1], "w") as file:
    json.dump(words, file)
"""


def install(folder: Path, text: str, patch: pytest.MonkeyPatch) -> None:
    """Put a program `py-spy` where it is found."""
    program = folder / "py-spy"
    program.write_text(text)
    program.chmod(0o755)
    patch.setenv("PATH", str(folder))


async def test_py_spy_is_used_if_it_is_there(pages: Pages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    got = await pages.get("/profile?seconds=1&format=speedscope")
    assert got.status == 503
    assert b"pip install py-spy" in got.body
    install(tmp_path, FAKE_PY_SPY.format(python=sys.executable), monkeypatch)
    got = await pages.get("/profile?seconds=2&format=speedscope")
    assert (got.status, got.content_type) == (200, "application/json")
    words = json.loads(got.body)
    assert words[words.index("--duration") + 1] == "2"
    assert words[words.index("--format") + 1] == "speedscope"
    assert (await pages.get("/profile?seconds=2&format=flamegraph")).content_type == "image/svg+xml"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [("print('Permission denied', file=sys.stderr); sys.exit(1)", b"py-spy failed: Permission denied\n"),
     ("pass", b"py-spy wrote nothing\n")],
)  # fmt: skip
async def test_py_spy_may_fail(
    pages: Pages, script: str, complaint: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, f"#!{sys.executable}\nimport sys\n{script}\n", monkeypatch)
    got = await pages.get("/profile?seconds=1&format=flamegraph")
    assert (got.status, got.body) == (503, complaint)


async def test_a_reload_takes_over(pages: Pages) -> None:
    new = pages.configure()
    await run(new.hooks.start + new.hooks.active)
    await run(pages.site.hooks.stop)
    assert [(await pages.get(path)).status for path in ("", "/", "/cmdline", "/goroutine")] == [302, 200, 200, 200]
    await run(new.hooks.stop)
    assert [(await pages.get(path)).status for path in ("", "/", "/cmdline", "/goroutine")] == [404] * 4


async def test_a_taken_address_fails_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        site = make_site()
        setup(make_directive(f"pprof {address}"), site)
        with pytest.raises(CorefileError) as caught:
            await run(site.hooks.start)
        assert str(caught.value) == f"listen tcp {address}: bind: address already in use"
