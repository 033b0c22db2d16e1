"""The admin endpoint: what each path says of which configuration, and which requests it refuses."""

from __future__ import annotations

import inspect
import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from support.chain import FakeNext, FakeProcess, make_directive, make_site, run
from waypost import __version__
from waypost.dispatch.handler import CacheEntry
from waypost.dispatch.site import ConfigurationFacts, Services, Site
from waypost.httpd import probe
from waypost.httpd.message import HttpRequest, HttpResponse
from waypost.httpd.server import HttpServer
from waypost.plugins.waypost import setup
from waypost.wire import consts, names
from waypost.wire.reply import DROP

ADDRESS = "127.0.0.1:0"


class Kept(FakeNext):
    """A cache with entries for these names; `asked` and `flushed` are what was chosen."""

    def __init__(self, *texts: str, **fields: Any) -> None:
        super().__init__(DROP, name="cache")
        self.entries = [entry(text, **fields) for text in texts]
        self.asked: list[tuple[bytes, bool]] = []
        self.flushed: list[tuple[bytes, bool]] = []

    def cached(self, name: bytes, *, below: bool) -> list[CacheEntry]:
        self.asked.append((name, below))
        return self.entries

    def flush(self, name: bytes, *, below: bool) -> int:
        self.flushed.append((name, below))
        return len(self.entries)


def entry(name: str, **fields: Any) -> CacheEntry:
    plain = CacheEntry(
        names.from_text(name), consts.TYPE_A, consts.CLASS_IN, False, False, consts.NOERROR, False, 20, 10, False, 1
    )
    return plain._replace(**fields)


def block(services: Services, *handlers: FakeNext, label: str = ".", bind: tuple[str, ...] = ()) -> Site:
    site = make_site(label, services=services)
    site.bind = list(bind)
    for handler in handlers:
        site.add(handler)
    return site


async def serving(process: FakeProcess, *sites: Site) -> None:
    """The first block has the directive; the configuration of all of them goes live."""
    setup(make_directive(f"waypost {{\nadmin {ADDRESS}\n}}"), sites[0])
    for site in sites:
        site.peers = list(sites)
    await run(sites[0].hooks.active)


def server(process: FakeProcess) -> HttpServer:
    found = process.lender.lent[("http", ADDRESS)]
    assert isinstance(found, HttpServer)
    return found


async def ask(process: FakeProcess, target: str, method: str = "GET", **headers: str) -> HttpResponse:
    path, _, query = target.partition("?")
    request = HttpRequest(method, path, query, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = server(process).routes[path](request)
    return await answer if inspect.isawaitable(answer) else answer


async def value(process: FakeProcess, target: str, method: str = "GET") -> Any:
    answer = await ask(process, target, method)
    assert (answer.status, answer.content_type) == (200, "application/json"), answer
    return json.loads(answer.body)


async def test_config() -> None:
    """B127: users could not tell which configuration runs."""
    process = FakeProcess()
    services = replace(
        process.services(),
        configuration=ConfigurationFacts("abc", ("/etc/Corefile", "/etc/custom/a.conf"), 1_700_000_000.9),
    )
    sites = [
        block(services, label=".:53"),
        block(services, label="Example.org:1053", bind=("127.0.0.1", "::1")),
        block(services, label="tls://example.org:853"),
        block(services, label="example.net:53"),
        block(services, label="example.net:53"),  # with another view
    ]
    await serving(process, *sites)
    assert await value(process, "/config") == {
        "version": __version__,
        "sha512": "abc",
        "files": ["/etc/Corefile", "/etc/custom/a.conf"],
        "loaded": "2023-11-14T22:13:20Z",
        "servers": [
            {"address": "dns://:53", "zones": [".", "example.net."]},
            {"address": "dns://127.0.0.1:1053", "zones": ["example.org."]},
            {"address": "dns://[::1]:1053", "zones": ["example.org."]},
            {"address": "tls://:853", "zones": ["example.org."]},
        ],
    }


async def test_an_entry_and_its_fields() -> None:
    process = FakeProcess()
    odd = Kept(
        "a\\.b.example.org", qtype=64999, qclass=3, do=True, cd=True, rcode=3, denial=True, ttl=0, stale=True, records=2
    )
    await serving(process, block(process.services(), odd))
    assert await value(process, "/cache") == [
        {
            "name": "a\\.b.example.org.",
            "type": "TYPE64999",
            "class": "CH",
            "do": True,
            "cd": True,
            "kind": "denial",
            "rcode": "NXDOMAIN",
            "ttl": 0,
            "age": 10,
            "stale": True,
            "records": 2,
        }
    ]


async def test_the_list_is_of_all_blocks_in_order_and_bounded() -> None:
    process = FakeProcess()
    services = process.services()
    many = Kept(*(f"n{number:04}.example" for number in reversed(range(1500))))
    first, second = block(services, FakeNext(DROP), many), block(services, Kept("a.example", "z.example"), label="z")
    await serving(process, first, second)
    listed = await ask(process, "/cache")
    found = [row["name"] for row in json.loads(listed.body)]
    assert found == ["a.example.", *(f"n{number:04}.example." for number in range(999))]
    assert ("X-Total-Count", "1502") in listed.headers
    found = [row["name"] for row in await value(process, "/cache?limit=2000")]
    assert (len(found), found[-1]) == (1502, "z.example.")
    assert len(await value(process, "/cache?limit=1")) == 1


@pytest.mark.parametrize(
    ("query", "name", "below"),
    [
        ("", ".", True),
        ("?name=WWW.Example.org", "www.example.org.", False),
        ("?name=www.example.org.", "www.example.org.", False),
        ("?name=.", ".", False),
        ("?zone=example.org", "example.org.", True),
        ("?zone=a%5C.b.org", "a\\.b.org.", True),
    ],
)
async def test_what_is_chosen(query: str, name: str, below: bool) -> None:
    process = FakeProcess()
    services = process.services()
    kept = [Kept("a.example", "b.example"), Kept("c.example")]
    await serving(process, *(block(services, each) for each in kept))
    await value(process, f"/cache{query}")
    assert await value(process, f"/cache/flush{query}", "POST") == {"flushed": 3}
    for each in kept:
        assert each.asked == each.flushed == [(names.from_text(name), below)]


@pytest.mark.parametrize(
    ("method", "target", "text"),
    [
        ("GET", "/cache?foo=1", "unknown parameter 'foo', expected name or zone or limit\n"),
        ("POST", "/cache/flush?limit=1", "unknown parameter 'limit', expected name or zone\n"),
        ("GET", "/config?name=a", "unknown parameter 'name', expected none\n"),
        ("POST", "/cache/flush?name=a&name=b", "name is given twice\n"),
        ("POST", "/cache/flush?name=a&zone=a", "expected name or zone, not both\n"),
        ("POST", "/cache/flush?zone=", "zone is empty\n"),
        ("POST", "/cache/flush?name", "name is empty\n"),
        ("GET", "/cache?name=a..b", "name 'a..b' is no domain name: empty label\n"),
        ("GET", f"/cache?zone={'a' * 64}", f"zone '{'a' * 64}' is no domain name: label longer than 63 bytes\n"),
        *(
            ("GET", f"/cache?limit={text}", f"limit '{text}' is not a number from 1 to 10000\n")
            for text in ("0", "-1", "10001", "x", "1e3", "9" * 5000, "²")
        ),
    ],
)
async def test_bad_arguments(method: str, target: str, text: str) -> None:
    process = FakeProcess()
    kept = Kept("a.example")
    await serving(process, block(process.services(), kept))
    answer = await ask(process, target, method)
    assert (answer.status, answer.body.decode()) == (400, text)
    assert kept.flushed == []


@pytest.mark.parametrize("headers", [{"Content_Length": "6"}, {"Transfer_Encoding": "chunked"}])
async def test_a_body_is_refused_and_nothing_is_flushed(headers: dict[str, str]) -> None:
    """`curl -d name=...` would otherwise flush everything."""
    process = FakeProcess()
    kept = Kept("a.example")
    await serving(process, block(process.services(), kept))
    answer = await ask(process, "/cache/flush", "POST", **headers)
    assert (answer.status, answer.body) == (400, b"a body is not read: parameters belong into the URL\n")
    assert kept.flushed == []
    assert (await ask(process, "/cache/flush", "POST", Content_Length="0")).status == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/config", "GET, HEAD"),
        ("DELETE", "/cache", "GET, HEAD"),
        ("GET", "/cache/flush", "POST"),
        ("HEAD", "/cache/flush", "POST"),
    ],
)
async def test_methods(method: str, path: str, allowed: str) -> None:
    process = FakeProcess()
    kept = Kept("a.example")
    await serving(process, block(process.services(), kept))
    answer = await ask(process, path, method)
    assert (answer.status, answer.headers) == (405, (("Allow", allowed),))
    assert answer.body.decode() == f"method {method} not allowed, expected {allowed}\n"
    assert kept.flushed == []


async def test_without_a_cache_there_is_nothing() -> None:
    process = FakeProcess()
    await serving(process, block(process.services(), FakeNext(DROP)))
    assert await value(process, "/cache") == []
    assert await value(process, "/cache/flush", "POST") == {"flushed": 0}


async def test_a_reload_takes_over_and_only_the_last_stop_ends_it() -> None:
    process = FakeProcess()
    old, new = block(process.services(), Kept("old.example")), block(process.services(), Kept("new.example"))
    await serving(process, old)
    await serving(process, new)
    await run(old.hooks.stop)
    assert [row["name"] for row in await value(process, "/cache")] == ["new.example."]
    await run(new.hooks.stop)
    assert server(process).routes == {}


async def test_it_listens_from_the_start_on() -> None:
    process = FakeProcess()
    site = block(process.services())
    await serving(process, site)
    await run(site.hooks.start)
    assert await probe.get("127.0.0.1", server(process).port, "/config", 5) == 200
    await server(process).close()


async def test_a_taken_address_is_logged_only() -> None:
    process = FakeProcess()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        site = make_site(process=process)
        setup(make_directive(f"waypost {{\nadmin {address}\n}}"), site)
        await run(site.hooks.start)
    assert process.lines == [
        f"[ERROR] Failed to start admin server: listen tcp {address}: bind: address already in use"
    ]
