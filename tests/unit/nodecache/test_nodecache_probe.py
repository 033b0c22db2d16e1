"""Rounds of questions to servers that answer, and to ones that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import ip_address

import dns.message
import dns.opcode
import pytest

from support.upstream import Asked, ScriptedUpstream, Send, Step, closed_port
from waypost.nodecache.probe import all_answer, local

HOST = ip_address("127.0.0.1")
PATIENCE = 0.15


def answer(asked: Asked) -> bytes:
    return dns.message.make_response(asked.message).to_wire()


async def test_a_round_is_three_questions_that_no_plugin_sees() -> None:
    async with ScriptedUpstream(lambda asked: [Send(answer(asked))]) as server:
        assert await all_answer([HOST], server.port, 5.0)
    assert sorted(asked.proto for asked in server.seen) == ["tcp", "udp", "udp"]
    assert len({asked.peer_port for asked in server.seen if asked.proto == "udp"}) == 2
    assert {asked.message.opcode() for asked in server.seen} == {dns.opcode.STATUS}


@pytest.mark.parametrize("silent", ["udp", "tcp"])
async def test_both_transports_must_answer(silent: str) -> None:
    def behave(asked: Asked) -> Iterable[Step]:
        return [] if asked.proto == silent else [Send(answer(asked))]

    async with ScriptedUpstream(behave) as server:
        assert not await all_answer([HOST], server.port, PATIENCE)


async def test_a_lost_datagram_is_sent_again() -> None:
    def behave(asked: Asked) -> Iterable[Step]:
        first = sum(asked.wire == each.wire for each in server.seen) == 1
        return [] if first and asked.proto == "udp" else [Send(answer(asked))]

    async with ScriptedUpstream(behave) as server:
        assert await all_answer([HOST], server.port, 1.5)
    assert server.count("udp") == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda wire: bytes([wire[0] ^ 1]) + wire[1:],
        lambda wire: wire[:2] + bytes([wire[2] & 0x7F]) + wire[3:],
        lambda wire: wire[:11],
        lambda wire: b"",
    ],
    ids=["another id", "a query", "cut", "empty"],
)
async def test_what_is_no_answer(change: Callable[[bytes], bytes]) -> None:
    async with ScriptedUpstream(lambda asked: [Send(change(answer(asked)))]) as server:
        assert not await all_answer([HOST], server.port, PATIENCE)


async def test_nobody_listens() -> None:
    with closed_port() as port:
        assert not await all_answer([HOST], port, PATIENCE)


def test_addresses_of_others_are_not_asked() -> None:
    assert local([ip_address("192.0.2.1"), HOST]) == [HOST]
    assert local([ip_address("192.0.2.1")]) == [HOST]
    assert local([ip_address("2001:db8::1")]) == [ip_address("::1")]
