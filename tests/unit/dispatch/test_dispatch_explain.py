"""One explained query: what comes out is what a client gets, and nothing remembers that it was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import dns.message
import dns.rcode
import pytest

from support.chain import make_request, make_wire
from support.serving import CLIENT, Serving
from waypost.dispatch import explain as module
from waypost.dispatch.explain import Explained, client_address, explain, plain_server
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, NOTED, Note
from waypost.metrics.expose import Exposition
from waypost.wire import consts
from waypost.wire.record import address
from waypost.wire.reply import DROP, Reply, authoritative, failure


def found(request: Request) -> Reply:
    request.note("last", "it is here", ANSWERED, "thing a", version="7")
    return authoritative(request.query, (address(request.query.qname, 5, b"\x0a\x00\x00\x01"),))


async def told(corefile: str, answer: Callable[[Request], Reply] = found, name: str = "a.org.") -> Explained:
    return await explain(Serving(corefile, answer).server, make_wire(name), CLIENT)


def texts(explained: Explained) -> list[tuple[str, str, str]]:
    return [(note.plugin, note.text, note.step) for note in explained.notes]


async def test_notes_message_and_json() -> None:
    explained = await told("a.org b.org:53 {\n}")
    assert explained.notes == (
        Note("server", "the block a.org.:53 b.org.:53 takes the query", NOTED),
        Note("last", "it is here", ANSWERED, ("thing a",), "7"),
    )
    assert explained.wire is not None
    assert dns.message.from_wire(explained.wire).answer[0].to_text() == "a.org. 5 IN A 10.0.0.1"
    value = json.loads(json.dumps(explained.as_json()))
    assert (value["server"], value["block"]) == ("dns://:53", "a.org.:53 b.org.:53")
    assert value["notes"][1] == {
        "plugin": "last", "text": "it is here", "step": "answered", "objects": ["thing a"], "version": "7", "depth": 0
    }  # fmt: skip


async def test_the_answer_is_the_clients() -> None:
    """The same chain, less the notes: whatever the reply is, the bytes agree."""
    for reply in (failure(consts.SERVFAIL, "boom"), failure(consts.REFUSED), Reply(consts.NXDOMAIN, 0), DROP):
        serving = Serving(". {\n}", lambda request, reply=reply: reply)  # type: ignore[misc]
        wire = make_wire("a.org.", bufsize=1232)
        assert (await explain(serving.server, wire, CLIENT)).wire == await serving.send(wire)


async def test_nothing_remembers_it() -> None:
    serving = Serving(". {\nprometheus 127.0.0.1:0\nlog\nwhoami\n}", found)
    for _ in range(3):
        await explain(serving.server, make_wire("a.org."), CLIENT)
    assert counted(serving) == []
    assert serving.process.lines == []
    await serving.ask("a.org.")
    assert len(counted(serving)) == 1
    assert len([line for line in serving.process.lines if "a.org." in line]) == 1


async def test_the_memo_is_neither_asked_nor_filled() -> None:
    serving = Serving(". {\n}", found)
    serving.server.memos = ()  # type: ignore[assignment]  # whoever wants one fails
    for _ in range(3):
        explained = await explain(serving.server, make_wire("a.org."), CLIENT)
        assert [note.step for note in explained.notes] == [NOTED, ANSWERED]


def counted(serving: Serving) -> list[str]:
    """The lines of the counter of queries."""
    lines = Exposition(serving.process.metrics).text().decode().splitlines()
    return [line for line in lines if line.startswith("coredns_dns_requests_total{")]


@pytest.mark.parametrize(
    ("answer", "rcode", "said"),
    [
        (lambda request: failure(consts.SERVFAIL, "dial: no"), "SERVFAIL", "a plugin failed: dial: no"),
        (lambda request: 1 / 0, "SERVFAIL", "a fault in a plugin: ZeroDivisionError: division by zero"),
    ],
)
async def test_failures_are_told(answer: Callable[[Request], Reply], rcode: str, said: str) -> None:
    explained = await told(". {\n}", answer)
    assert explained.wire is not None
    assert dns.rcode.to_text(dns.message.from_wire(explained.wire).rcode()) == rcode
    assert texts(explained)[-1] == ("server", said, ANSWERED)


async def test_silence() -> None:
    assert (await told(". {\n}", lambda request: DROP)).wire is None


async def test_no_block_and_no_plugin() -> None:
    explained = await told("b.org c.org {\n}")
    assert texts(explained) == [
        ("server", "no server block takes this query; the zones here are b.org. c.org.", ANSWERED)
    ]
    explained = await told(". {\n}", lambda request: request.site.chain.next.serve(request))  # type: ignore[union-attr]
    assert texts(explained)[-1] == ("server", "no plugin of the block answers this name", ANSWERED)


async def test_views_that_do_not_take_the_query_are_told() -> None:
    view = ". {\nview inside {\nexpr incidr(client_ip(), '10.0.0.0/8')\n}\n}\n. {\n}"
    explained = await told(view)
    assert texts(explained)[0] == ("view", "view inside of the block .:53 does not take this query", NOTED)


async def test_nested_look_ups_are_deeper() -> None:
    def chase(request: Request) -> Reply:
        if request.name == b"\x01a\x03org\x00":
            request.lookup(b"\x01b\x03org\x00", consts.TYPE_A)
        return found(request)

    explained = await told(". {\n}", chase)
    assert [(note.plugin, note.depth) for note in explained.notes][:2] == [("server", 0), ("server", 1)]
    assert explained.notes[1].text == "looks up b.org. A"


async def test_a_plugin_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(request: Request) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(module, "_SECONDS", 0.01)
    explained = await told(". {\n}", wait)  # type: ignore[arg-type]  # a coroutine is an outcome too
    assert explained.wire is None
    assert texts(explained)[-1] == ("server", "no answer within 0.01 s", ANSWERED)


async def test_what_is_no_query() -> None:
    serving = Serving(". {\n}", found)
    assert (await explain(serving.server, b"\x00" * 5, CLIENT)).wire is None


async def test_the_listener_that_pods_ask() -> None:
    servers = [Serving(text, found).server for text in ("tls://.:853 {\n}", ".:1053 {\n}", ". {\nbind 127.0.0.1\n}")]
    assert plain_server(servers) is servers[2]
    assert plain_server(servers[:1]) is None


def test_client_addresses() -> None:
    assert len(client_address("10.0.0.1")) == 2
    assert len(client_address("fd00::1")) == 4


def test_without_a_trace_nothing_is_noted() -> None:
    request = make_request("a.org.")
    request.note("any", "nobody listens")
    assert request.trace is None
