"""Queries that go upstream before the chain is asked: clients, dashboards, logs and upstreams see no difference."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import dns.flags
import dns.message
import dns.rrset
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.goingahead import world_of
from support.upstream import Asked, ScriptedUpstream, Send, Step, reply
from waypost.dispatch.memo import NEW, Memo, Sighting

_SOA = "ns.example.org. root.example.org. 1 2 3 4 5"


class NoMemo(Memo):
    """Keeps nothing and sends nothing ahead."""

    def came_before(self, wire: bytes) -> Sighting:
        return NEW


def _changed(asked: Asked, kind: str) -> bytes:
    made = reply(asked, "@ 60 IN A 192.0.2.7")
    if kind == "q":  # another question
        made.question[0] = dns.rrset.from_text("zz.example.org.", 0, "IN", "A")
    elif kind == "x":  # NXDOMAIN
        made = reply(asked, rcode="NXDOMAIN")
        made.authority.append(dns.rrset.from_text("example.org.", 60, "IN", "SOA", _SOA))
    elif kind == "n":  # with an authority section
        made.authority.append(dns.rrset.from_text("example.org.", 60, "IN", "NS", "ns.example.org."))
    elif kind == "f":
        made.flags |= dns.flags.AA | dns.flags.AD
    elif kind == "r":  # no response at all: a query comes back
        made.flags &= ~dns.flags.QR
    return made.to_wire()


def behave(asked: Asked) -> Iterable[Step]:
    """What the first letter of the name says; the second is a number."""
    if asked.name == ".":  # a probe
        return [Send(reply(asked).to_wire())]
    kind, number = asked.name[:2].lower()
    records = {
        "a": [f"@ {number} IN A 192.0.2.{number}"],
        "b": ["@ 60 IN A 192.0.2.1", f"@ 60 IN A 192.0.2.1{number}"],
        "c": ["@ 60 IN CNAME www.example.net.", "www.example.net. 60 IN A 192.0.2.1"],
        "e": [],
    }.get(kind)
    if records is not None:
        return [Send(reply(asked, *records).to_wire())]
    if kind in "sy":
        return [Send(reply(asked, rcode="SERVFAIL" if kind == "s" else "REFUSED").to_wire())]
    if kind == "t":
        return [Send(reply(asked, tc=True).to_wire())]
    good = reply(asked, "@ 60 IN A 192.0.2.7").to_wire()
    if kind == "g":  # garbage first, then the reply, then it again
        return [Send(good[:2] + b"\x81"), Send(good[:14]), Send(b"\0\0" + good[2:]), Send(good), Send(good)]
    if kind == "l":
        return [Send(good + b"tail")]
    if kind == "u":  # upper case
        return [Send(good[:12] + good[12:28].upper() + good[28:])]
    if kind == "o":  # an address that is too long
        return [Send(good.replace(b"\0\x04\xc0\0\x02\x07", b"\0\x05\xc0\0\x02\x07\0"))]
    return [Send(_changed(asked, kind))]


KINDS = "abcesytglouqxnfr"


def forward(upstream: ScriptedUpstream) -> str:
    return f"forward . {upstream.address} {{\nmax_concurrent 1000\n}}"


questions = st.tuples(
    st.builds(
        lambda kind, number, end: f"{kind}{number}.{end}.",
        st.sampled_from(KINDS),
        st.integers(1, 9),
        st.sampled_from(["example.org", "EXAMPLE.org", "a.svc.cluster.local"]),
    ),
    st.sampled_from([None, 1232]),
    st.booleans(),
    st.sampled_from(["A", "A", "AAAA"]),
)


@pytest.mark.parametrize("extra", ["", "log", "cache 30", "cache 30 example.org {\nserve_stale\n}"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(asked=st.lists(questions, min_size=10, max_size=50))
def test_with_and_without(extra: str, asked: list[tuple[str, int | None, bool, str]]) -> None:
    asyncio.run(compared(extra, asked))


async def compared(extra: str, asked: list[tuple[str, int | None, bool, str]]) -> None:
    async with ScriptedUpstream(behave) as upstream:
        seen = []
        worlds = []
        for memo in (Memo(), NoMemo()):
            upstream.seen.clear()
            async with world_of(forward(upstream), memo, extra) as world:
                for question in asked:
                    await world.ask(*question)
                worlds.append((world.answers, world.shown(), world.logged()))
                seen.append([(one.name, one.wire[2:]) for one in upstream.seen if one.name != "."])
    assert worlds[0][0] == worlds[1][0]
    assert worlds[0][1] == worlds[1][1]
    assert worlds[0][2] == worlds[1][2]
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    ("extra", "ahead"),
    [("", 4), ("log", 4), ("cache", 4), ("rewrite name a.org b.org", 0), ("nsid", 0)],
)
async def test_it_happens_only_where_nobody_looks(extra: str, ahead: int) -> None:
    async with ScriptedUpstream(behave) as upstream, world_of(forward(upstream), Memo(), extra) as world:
        for number in range(1, 7):
            await world.ask(f"a{number}.example.org.", None, True, "A")
        assert world.ahead == ahead
