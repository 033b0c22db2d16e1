"""Addresses of host names from scripted name servers."""

from __future__ import annotations

import asyncio

import pytest

from support.upstream import Asked, Behaviour, ScriptedUpstream, Send, closed_port, rcode, reply, silent
from waypost.toolkit import hostlookup
from waypost.toolkit.exchange import ExchangeSettings
from waypost.toolkit.hostlookup import Found, Resolver, look_up
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.wire.names import from_text


def server(port: int) -> UpstreamAddress:
    return UpstreamAddress("127.0.0.1", port)


def zone(**records: list[str]) -> Behaviour:
    """Answers from records by name (`_` for a dot) and type; a name without any does not exist."""
    known = {name.replace("_", ".") + ".": lines for name, lines in records.items()}

    def behave(asked: Asked) -> list[Send]:
        name, qtype = asked.name.lower(), asked.message.question[0].rdtype.name
        if name not in known:
            return [Send(reply(asked, rcode="NXDOMAIN").to_wire())]
        lines = [line for line in known[name] if line.split()[3] in (qtype, "CNAME") or line.startswith("+")]
        return [Send(reply(asked, *(line.lstrip("+") for line in lines)).to_wire())]

    return behave


async def test_both_families_in_a_steady_order() -> None:
    records = ["@ 60 IN A 192.0.2.2", "@ 60 IN A 192.0.2.1", "@ 30 IN AAAA 2001:db8::1", "@ 60 IN A 192.0.2.1"]
    async with ScriptedUpstream(zone(dns_example=records)) as upstream:
        found = await look_up("DNS.example", Resolver((server(upstream.port),)))
    assert found == Found(("192.0.2.1", "192.0.2.2", "2001:db8::1"), 30)
    assert {(asked.name, bool(asked.message.flags & 0x100)) for asked in upstream.seen} == {("dns.example.", True)}


async def test_aliases_are_followed_and_their_ttl_counts() -> None:
    def behave(asked: Asked) -> list[Send]:
        if asked.message.question[0].rdtype.name == "AAAA":
            return [Send(reply(asked, "@ 90 IN CNAME b.example.").to_wire())]
        records = ["c.example. 50 IN A 192.0.2.1", "@ 90 IN CNAME B.example.", "b.example. 20 IN CNAME c.example."]
        return [Send(reply(asked, *records, "other.example. 1 IN A 192.0.2.66").to_wire())]

    async with ScriptedUpstream(behave) as upstream:
        assert await look_up("a.example", Resolver((server(upstream.port),))) == Found(("192.0.2.1",), 20)


async def test_aliases_in_a_circle_end() -> None:
    circle = ["@ 60 IN CNAME b.example.", "+b.example. 60 IN CNAME a.example."]
    async with ScriptedUpstream(zone(a_example=circle)) as upstream:
        with pytest.raises(UpstreamError, match=r"^lookup a\.example: no such host$"):
            await look_up("a.example", Resolver((server(upstream.port),)))


@pytest.mark.parametrize("text", ["NXDOMAIN", "NOERROR"])
async def test_no_such_host(text: str) -> None:
    async with ScriptedUpstream(rcode(text)) as upstream:
        with pytest.raises(UpstreamError, match=r"^lookup a\.example: no such host$"):
            await look_up("a.example", Resolver((server(upstream.port),)))
    assert upstream.count() == 2


async def test_one_family_is_enough_when_the_other_fails() -> None:
    def behave(asked: Asked) -> list[Send]:
        fine = asked.message.question[0].rdtype.name == "A"
        return [Send((reply(asked, "@ 60 IN A 192.0.2.1") if fine else reply(asked, rcode="SERVFAIL")).to_wire())]

    async with ScriptedUpstream(behave) as upstream:
        assert (await look_up("a.example", Resolver((server(upstream.port),)))).addresses == ("192.0.2.1",)


async def test_next_server_is_asked_when_one_fails() -> None:
    behaviour = zone(a_example=["@ 60 IN A 192.0.2.1"])
    async with ScriptedUpstream(rcode("REFUSED")) as bad, ScriptedUpstream(behaviour) as fine:
        with closed_port() as port:
            resolver = Resolver((server(port), server(bad.port), server(fine.port)))
            assert (await look_up("a.example", resolver)).addresses == ("192.0.2.1",)
    assert (bad.count(), fine.count()) == (2, 2)


async def test_servers_that_fail_are_asked_twice() -> None:
    async with ScriptedUpstream(rcode("SERVFAIL")) as bad:
        with pytest.raises(UpstreamError, match=rf"^lookup a\.example: 127\.0\.0\.1:{bad.port}: SERVFAIL$"):
            await look_up("a.example", Resolver((server(bad.port),)))
    assert bad.count() == 4


async def test_truncated_answer_is_fetched_over_tcp() -> None:
    def behave(asked: Asked) -> list[Send]:
        made = reply(asked, "@ 60 IN A 192.0.2.1") if asked.proto == "tcp" else reply(asked, tc=True)
        return [Send(made.to_wire())]

    async with ScriptedUpstream(behave) as upstream:
        assert await look_up("a.example", Resolver((server(upstream.port),)))


@pytest.mark.parametrize(
    ("host", "ndots", "asked"),
    [
        ("a.example", 1, ["a.example.", "a.example.x.", "a.example.y.z."]),
        ("a.example", 2, ["a.example.x.", "a.example.y.z.", "a.example."]),
        ("a", 1, ["a.x.", "a.y.z.", "a."]),
        ("a.", 5, ["a."]),
    ],
)
async def test_search_list(host: str, ndots: int, asked: list[str]) -> None:
    async with ScriptedUpstream(zone()) as upstream:
        resolver = Resolver((server(upstream.port),), (from_text("x."), from_text("y.z.")), ndots)
        with pytest.raises(UpstreamError):
            await look_up(host, resolver)
    assert list(dict.fromkeys(each.name for each in upstream.seen)) == asked


async def test_search_ends_with_the_first_that_exists() -> None:
    async with ScriptedUpstream(zone(a_x=["@ 60 IN A 192.0.2.1"])) as upstream:
        resolver = Resolver((server(upstream.port),), (from_text("x."), from_text("y.")), 1)
        assert (await look_up("a", resolver)).addresses == ("192.0.2.1",)
    assert upstream.count() == 2


async def test_name_that_is_too_long_with_a_domain() -> None:
    long = ".".join(["x" * 60] * 4)
    async with ScriptedUpstream(zone()) as upstream:
        with pytest.raises(UpstreamError, match="no such host"):
            await look_up(long, Resolver((server(upstream.port),), (from_text("a-long-domain.example."),), 1))
    assert {asked.name for asked in upstream.seen} == {long + "."}


async def test_hosts_come_first() -> None:
    hosts = "127.0.0.1 localhost\n# 192.0.2.9 dns\n::1\tip6 LocalHost # dns\nnonsense dns\n192.0.2.7 dns.example. dns\n"
    assert (await look_up("localhost", Resolver((), hosts=hosts))).addresses == ("127.0.0.1", "::1")
    assert (await look_up("dns", Resolver((), hosts=hosts))).addresses == ("192.0.2.7",)
    with pytest.raises(UpstreamError, match=r"^lookup ip: no name servers$"):
        await look_up("ip", Resolver((), hosts=hosts))


async def test_time_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostlookup, "_PATIENCE", 0.05)
    async with ScriptedUpstream(silent) as upstream:
        with pytest.raises(UpstreamError, match=r"^lookup a\.example: i/o timeout$"):
            await look_up("a.example", Resolver((server(upstream.port),)))


async def test_silent_server_is_left_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostlookup, "ExchangeSettings", lambda: ExchangeSettings(0.05))
    async with ScriptedUpstream(silent) as first, ScriptedUpstream(zone(a_b=["@ 60 IN A 192.0.2.1"])) as second:
        assert await look_up("a.b", Resolver((server(first.port), server(second.port))))
    await asyncio.sleep(0)
