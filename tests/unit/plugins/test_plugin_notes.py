"""What plugins say of a query while it is explained: everything that one decides is noted, uniformly."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import dns.edns
import pytest

from support.chain import make_wire
from support.serving import CLIENT, Serving
from waypost.dispatch.explain import explain
from waypost.dispatch.request import Address, Request
from waypost.dispatch.trace import ANSWERED, CHANGED, NOTED, PASSED, UNASKED, Note
from waypost.wire import consts
from waypost.wire.record import address, soa
from waypost.wire.reply import Reply, authoritative, failure

SOA = (7200, 1800, 86400, 30)
ZONE = """\
$ORIGIN a.org.
@ 60 IN SOA ns hostmaster 7 60 60 60 60
www 60 IN A 192.0.2.1
out 60 IN CNAME b.net.
*.w 60 IN A 192.0.2.2
"""


def last(request: Request) -> Reply:
    """Two addresses for A, and no data for the rest."""
    query = request.query
    if query.qtype == consts.TYPE_A:
        return authoritative(query, tuple(address(query.qname, 60, bytes((192, 0, 2, n))) for n in (1, 2)))
    return authoritative(query, authority=(soa(query.qname, 30, query.qname, query.qname, 1, SOA),))


async def notes(
    directives: str, name: str = "www.a.org.", qtype: str = "A", *, client: Address = CLIENT, **how: Any
) -> list[Note]:
    """The plugins' notes on one query to a block with these directives."""
    serving = Serving(f". {{\n{directives}\n}}", last)
    explained = await explain(serving.server, make_wire(name, qtype, **how), client)
    return [note for note in explained.notes if note.plugin != "server"]


NSID = (dns.edns.GenericOption(dns.edns.NSID, b""),)


@pytest.mark.parametrize(
    ("directives", "question", "expected"),
    [
        ("acl {\nblock net 192.0.2.0/24\n}", ("www.a.org.", "A"),
         [("acl", ANSWERED, "client 192.0.2.9 is stopped by block in Corefile:3")]),
        ("acl {\nallow net 192.0.2.9\nblock\n}", ("www.a.org.", "A"),
         [("acl", NOTED, "client 192.0.2.9 is allowed: by Corefile:3")]),
        ("acl {\ndrop net 10.0.0.0/8\n}", ("www.a.org.", "A"),
         [("acl", NOTED, "client 192.0.2.9 is allowed: no rule fits")]),
        ("any", ("www.a.org.", "ANY"), [("any", ANSWERED, "ANY is answered with one HINFO record (RFC 8482)")]),
        ("whoami", ("www.a.org.", "A"),
         [("whoami", ANSWERED, "every name exists and tells the client's own address")]),
        ("local", ("localhost.", "A"),
         [("local", ANSWERED, "names of localhost and its addresses are answered here")]),
        ("local", ("localhost.a.org.", "A"), [("local", ANSWERED, "names of localhost are answered here")]),
        ("erratic", ("www.a.org.", "A"), [("erratic", ANSWERED, "a fixed answer, or on purpose a bad one")]),
        ("header {\nresponse set ra\n}", ("www.a.org.", "A"),
         [("header", NOTED, "header bits of the reply will be changed")]),
        ("header {\nquery clear rd\n}", ("www.a.org.", "A"), [("header", NOTED, "header bits of the query changed")]),
        ("minimal", ("www.a.org.", "A"),
         [("minimal", NOTED, "authority and additional section of an answer will be left out")]),
        ("loadbalance", ("www.a.org.", "A"),
         [("loadbalance", NOTED, "records may come in another order each time")]),
        ("loadbalance", ("www.a.org.", "AAAA"), []),
        ("rewrite type A AAAA", ("www.a.org.", "A"),
         [("rewrite", CHANGED, "www.a.org. A -> www.a.org. AAAA")]),
        ("rewrite stop name regex (.*)\\.a\\.org {1}.b.org answer auto", ("www.a.org.", "A"),
         [("rewrite", CHANGED, "www.a.org. A -> www.b.org. A"), ("rewrite", NOTED, "the reply will be changed too")]),
        ("rewrite class CH IN", ("www.a.org.", "A"), []),
        ("template IN A b.org {\nrcode NXDOMAIN\n}", ("www.a.org.", "A"), []),
        ("template IN A a.org {\nmatch ^x\n}", ("www.a.org.", "A"),
         [("template", ANSWERED, "no pattern for this zone matches, and nothing falls through")]),
        ("transfer a.org {\nto *\n}", ("a.org.", "AXFR"),
         [("transfer", ANSWERED, "refused: zone transfers need TCP")]),
        ("hosts {\n10.0.0.1 www.a.org\n}", ("www.a.org.", "A"),
         [("hosts", ANSWERED, "the table has the name with 1 A records")]),
        ("hosts {\n10.0.0.1 www.a.org\nfallthrough\n}", ("b.org.", "A"),
         [("hosts", PASSED, "the table does not have the name, which falls through")]),
        ("hosts {\n10.0.0.1 www.a.org\n}", ("b.org.", "A"),
         [("hosts", ANSWERED, "the table does not have the name, and nothing falls through")]),
        ("hosts {\n10.0.0.1 www.a.org\n}", ("1.0.0.10.in-addr.arpa.", "PTR"),
         [("hosts", ANSWERED, "1 names for this address")]),
        ("cache 20", ("www.a.org.", "A"),
         [("cache", NOTED, "miss: nothing is kept for this question"), ("cache", NOTED, "kept for 20 s")]),
        ("cache {\ndisable success\n}", ("www.a.org.", "A"),
         [("cache", NOTED, "miss: nothing is kept for this question"),
          ("cache", NOTED, "not kept: disabled for this zone, or changed meanwhile")]),
        ("cache {\ndisable success a.org\ndisable denial a.org\n}", ("www.a.org.", "A"),
         [("cache", NOTED, "nothing is ever kept for names of this zone (disable)")]),
        ("forward b.org 192.0.2.53\nwhoami", ("www.a.org.", "A"),
         [("forward", PASSED, "this forward is not for the name: it forwards b.org."),
          ("whoami", ANSWERED, "every name exists and tells the client's own address")]),
        ("forward . 192.0.2.53 {\nexcept a.org\n}", ("www.a.org.", "A"),
         [("forward", PASSED, "this forward is not for the name: it forwards . except a.org.")]),
    ],
)  # fmt: skip
async def test_what_is_noted(directives: str, question: tuple[str, str], expected: list[tuple[str, str, str]]) -> None:
    assert [(note.plugin, note.step, note.text) for note in await notes(directives, *question)] == expected


async def test_edns_plugins() -> None:
    said = await notes("nsid me", options=NSID)
    assert [note.text for note in said] == ["the client asks which server answers, and will be told"]
    said = await notes("bufsize 1000", bufsize=4096)
    assert [note.text for note in said] == ["EDNS size 4096 -> 1000"]
    assert await notes("bufsize 1000", bufsize=512) == []


async def test_dns64_looks_up_addresses() -> None:
    said = await notes("dns64 {\nallow_ipv4\n}", qtype="AAAA")
    assert [(note.step, note.text) for note in said] == [
        (NOTED, "no AAAA records: asks for A"),
        (ANSWERED, "AAAA records made of the A records found"),
    ]


@pytest.mark.parametrize(
    ("name", "step", "text"),
    [
        ("www.a.org.", ANSWERED, "zone a.org. has this name"),
        ("gone.a.org.", ANSWERED, "zone a.org. has no such name"),
        ("out.a.org.", ANSWERED, "zone a.org. has a CNAME to b.net., which lies elsewhere"),
        ("x.w.a.org.", ANSWERED, "zone a.org. has this name"),
        ("gone.f.org.", PASSED, "zone f.org. has nothing at this name, which falls through"),
    ],
)
async def test_zone_files(tmp_path: Path, name: str, step: str, text: str) -> None:
    path = tmp_path / "db"
    path.write_text(ZONE)
    (tmp_path / "f").write_text(ZONE.replace("a.org", "f.org"))
    said = await notes(f"file {path} a.org\nfile {tmp_path}/f f.org {{\nfallthrough\n}}", name)
    told = [note for note in said if note.step in (ANSWERED, PASSED)]
    assert [(note.plugin, note.step, note.text, note.version) for note in told] == [("file", step, text, "serial 7")]
    wildcards = [note.text for note in said if "wildcard" in note.text]
    assert wildcards == (["made from the wildcard *.w.a.org."] if name.startswith("x.") else [])


async def test_a_second_question_is_answered_from_the_cache() -> None:
    serving = Serving(". {\ncache 20\n}", last)
    await serving.ask("www.a.org.")
    (note,) = (await explain(serving.server, make_wire("www.a.org."), CLIENT)).notes[1:]
    assert (note.plugin, note.step, note.text) == ("cache", ANSWERED, "hit: kept 0 s ago, 20 s left")
    await explain(serving.server, make_wire("no.a.org.", "MX"), CLIENT)
    (note,) = (await explain(serving.server, make_wire("no.a.org.", "MX"), CLIENT)).notes[1:]
    assert note.objects == ("denial",)


async def test_offline_no_upstream_is_asked() -> None:
    serving = Serving(". {\nforward . 192.0.2.53 192.0.2.54:5353\n}", last)
    explained = await explain(serving.server, make_wire("a.org."), CLIENT, offline=True)
    note = explained.notes[-1]
    assert (note.plugin, note.step) == ("forward", UNASKED)
    assert note.text == "would ask one of the upstreams 192.0.2.53:53 192.0.2.54:5353"


async def test_a_server_that_waits_too_long() -> None:
    async def wait(request: Request) -> Reply:
        await asyncio.sleep(60)
        return failure(consts.SERVFAIL)

    serving = Serving(". {\ncancel 1ms\n}", wait)  # type: ignore[arg-type]  # a coroutine is an outcome too
    explained = await explain(serving.server, make_wire("a.org."), CLIENT)
    assert explained.notes[-1][:3] == ("cancel", "given up: no answer within 0.001 s", ANSWERED)
