"""Signed names through the cache: what a client gets does not depend on who asked before, nor on what shares a hash."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from support.caching import SOA, Rig, decoded, records, reply, request_with
from waypost.dispatch.handler import settled
from waypost.dispatch.request import Request
from waypost.wire import consts, names
from waypost.wire.edns import DO, Opt
from waypost.wire.reply import Reply

DATA = {
    "A": "@ 300 IN A 192.0.2.1",
    "AAAA": "@ 300 IN AAAA 2001:db8::1",
    "DS": "@ 300 IN DS 1 13 2 " + "AB" * 32,
    "ANY": "@ 300 IN A 192.0.2.1",
}
SIGNATURE = "@ 300 IN RRSIG {} 13 3 300 20380101000000 20200101000000 1 example.org. AAAA"
CLIENTS = {"no EDNS": {}, "EDNS": {"edns": True}, "DO": {"do": True}}


def signed(request: Request) -> Reply:
    """What a validating upstream gives: signatures with DO only; an OPT always, as some do."""
    qtype = consts.type_text(request.query.qtype)
    lines = [DATA[qtype]]
    if request.query.do:
        lines.append(SIGNATURE.format("A" if qtype == "ANY" else qtype))
    return reply(request, *lines).replace(opt=Opt(1232, flags=DO if request.query.do else 0))


def denied(request: Request) -> Reply:
    """The same for a name that does not exist."""
    lines = [SOA.format(ttl=300, minimum=300)]
    if request.query.do:
        lines += ["example.org. 300 IN NSEC z.example.org. A NSEC"]
    return reply(request, rcode=consts.NXDOMAIN, authority=tuple(lines))


def shape(request: Request, answer: Reply) -> tuple[int, list[str], list[str], bool]:
    """rcode, the types of both sections, and whether there is an OPT."""
    message = decoded(request, answer)
    types = [sorted(consts.type_text(rrset.rdtype) for rrset in section) for section in message.sections[1:3]]
    return message.rcode(), types[0], types[1], message.edns >= 0


@pytest.mark.parametrize("qtype", DATA)
@pytest.mark.parametrize("order", list(itertools.permutations(CLIENTS)), ids=", ".join)
def test_miss_and_hit_give_the_same(order: tuple[str, ...], qtype: str) -> None:
    """B164: the first answer was only the signature, or empty; it depended on who had asked before."""
    rig = Rig()
    data = "A" if qtype == "ANY" else qtype
    for client in order * 3:
        rig.source.answer = signed
        request = request_with("www.example.org.", qtype, **CLIENTS[client])
        found = shape(request, rig.cache.serve(request))  # type: ignore[arg-type]  # the source answers at once
        with_do = ["RRSIG"] if client == "DO" else []
        assert found == (0, sorted([data, *with_do]), [], client != "no EDNS")
        rig.source.answer = denied
        request = request_with("no.example.org.", qtype, **CLIENTS[client])
        found = shape(request, rig.cache.serve(request))  # type: ignore[arg-type]
        assert found == (3, [], ["NSEC", "SOA"] if client == "DO" else ["SOA"], client != "no EDNS")
    assert rig.asked == 4  # with and without DO, each once for both names


async def test_many_misses_of_one_key_do_not_share_a_message() -> None:
    """B164: records were taken out of a message that other clients were about to get."""
    rig = Rig()
    rig.source.answer = signed
    rig.source.later = True
    requests = [request_with(**client) for client in (*CLIENTS.values(),) * 33]  # type: ignore[arg-type]
    waiting = [asyncio.ensure_future(settled(rig.cache.serve(request))) for request in requests]
    await asyncio.sleep(0)
    rig.source.release()
    answers = await asyncio.gather(*waiting)
    for request, answer in zip(requests, answers, strict=True):
        types = ["A", "RRSIG"] if request.query.do else ["A"]
        assert shape(request, answer) == (0, types, [], request.query.opt is not None)


class Colliding(bytes):
    """A name whose hash is that of every other one."""

    __slots__ = ()

    def __hash__(self) -> int:
        return 7


def test_names_of_one_hash_have_answers_of_their_own() -> None:
    """S06: keys were hashes of 64 bits, so a collision gave one name the answer of another."""
    rig = Rig()
    owners = {}
    for _ in range(2):
        for name in ("bank.example.org.", "evil.example.org.", "www.example.org."):
            request = request_with(name)
            request.query.name = Colliding(request.query.name)
            answer = rig.cache.serve(request)
            assert isinstance(answer, Reply)
            owners[name] = names.to_text(answer.answer[0].owner)
    assert all(name == owner for name, owner in owners.items())
    assert rig.asked == 3


def test_a_hit_is_for_the_whole_question() -> None:
    """S06"""
    rig = Rig()
    questions = [
        (name, qtype, qclass, do, cd)
        for name in ("a.example.org.", "b.example.org.", "example.org.")
        for qtype in ("TXT", "SPF")
        for qclass in ("IN", "CH")
        for do in (False, True)
        for cd in (False, True)
    ]
    for _ in range(2):
        for number, (name, qtype, qclass, do, cd) in enumerate(questions):
            line = f"{name} 300 {qclass} {qtype} {number}"
            if rig.asked < len(questions):
                rig.source.answer = lambda request, line=line: reply(request, line)  # type: ignore[misc]
            answer = rig.ask(name, qtype, qclass=qclass, do=do, cd=cd)  # type: ignore[arg-type]
            assert answer.answer == records(line)
    assert rig.asked == len(questions)
