"""DNS over QUIC on loopback, by clients that keep to RFC 9250 and some that do not."""

from __future__ import annotations

import asyncio
from typing import Any

import dns.asyncquery
import dns.edns
import dns.flags
import dns.message
import pytest
from aioquic.quic.connection import QuicConnection

from support.listening import query, stream
from support.quicclient import configuration, connected
from support.secure import CA, SERVER_NAME, Listening
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits, TlsSettings
from waypost.listeners import quic, quicpeer
from waypost.listeners.quic import Tickets, configure
from waypost.wire import consts
from waypost.wire.record import txt
from waypost.wire.reply import Reply, authoritative

STATUS = "coredns_dns_quic_responses_total"


def statuses(listening: Listening) -> dict[str, float]:
    return {status: value for (_, status), value in listening.counted(STATUS).items()}


def message(data: bytes) -> dns.message.Message:
    assert int.from_bytes(data[:2], "big") == len(data) - 2
    return dns.message.from_wire(data[2:])


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1", "::"])
async def test_by_dnspython(host: str) -> None:
    question = dns.message.make_query("a.", "A", id=0)
    where = "::1" if ":" in host else "127.0.0.1"
    async with Listening("quic", host=host) as listening:
        answer = await dns.asyncquery.quic(
            question, where, port=listening.port, timeout=5, verify=CA, server_hostname=SERVER_NAME
        )
        (request,) = listening.world.plugin.seen
    assert answer.answer[0][0].to_text() == "10.0.0.1"
    assert (request.protocol, request.client_ip) == ("udp", where)
    assert statuses(listening) == {"0x0": 1}


async def test_many_queries_in_any_order() -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        slow = client.send(stream(query("slow.", 0)))
        quick = [client.send(stream(query("a.", 0))) for _ in range(50)]
        for each in quick:
            assert message(await client.answer(each)).id == 0
        assert slow not in client.ended
        listening.world.plugin.waiting[b"slow"].set()
        assert message(await client.answer(slow)).answer
        assert statuses(listening) == {"0x0": 51}


async def test_a_query_is_answered_before_its_stream_ends() -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        number = client.send(stream(query("a.", 0)), end=False)
        assert message(await client.answer(number)).answer


async def test_a_query_in_pieces() -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        data = stream(query("a.", 0))
        number = client.send(data[:1], end=False)
        for n in range(1, len(data)):
            client.send(data[n : n + 1], stream=number, end=n == len(data) - 1)
        assert message(await client.answer(number)).answer


KEEPALIVE = dns.message.make_query("a.", "A", id=0, options=[dns.edns.GenericOption(11, b"")]).to_wire()


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (stream(query("a.", 1)), {}),
        (stream(KEEPALIVE), {}),
        (stream(query("a.", 0), query("b.", 0)), {}),
        (stream(b""), {}),
        (stream(query("a.", 0))[:-1], {}),
        (b"\0", {}),
        (b"", {}),
        (stream(query("a.", 0)), {"uni": True}),
    ],
    ids=["id", "keep-alive", "two", "empty", "cut", "one byte", "nothing", "unidirectional"],
)
async def test_what_breaks_the_protocol(data: bytes, how: dict[str, Any]) -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        client.send(data, **how)
        assert await client.code() == 2
        assert statuses(listening) == {"0x2": 1}


async def test_a_second_query_on_a_stream_later() -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        number = client.send(stream(query("slow.", 0)), end=False)
        await until(lambda: listening.world.plugin.waiting)
        client.send(stream(query("a.", 0)), stream=number)
        assert await client.code() == 2


async def test_silence_resets_the_stream() -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        number = client.send(stream(query("drop.", 0)))
        await client.answer(number)
        assert client.reset == {number: 1}
        assert statuses(listening) == {"0x1": 1}


async def test_a_malformed_query_is_told_so() -> None:
    async with Listening("quic") as listening, connected(listening.port) as client:
        number = client.send(stream(query("a.", 0)[:4] + b"\0\2" + query("a.", 0)[6:]))
        assert message(await client.answer(number)).rcode() == 1


def large(request: Request) -> Reply:
    record = txt(request.query.qname, 5, *[b"x" * 100] * 20)
    return authoritative(request.query, (record,))


async def test_an_answer_that_no_datagram_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """CoreDNS cuts it, and the client has no TCP to ask again by."""
    monkeypatch.setattr("support.listening.answer", large)
    async with Listening("quic") as listening, connected(listening.port) as client:
        number = client.send(stream(query("a.", 0)))
        answer = message(await client.answer(number))
        late = client.send(stream(query("slow.", 0)))
        await asyncio.sleep(0)
        listening.world.plugin.waiting.setdefault(b"slow", asyncio.Event()).set()
        again = message(await client.answer(late))
    for each in (answer, again):
        assert not each.flags & dns.flags.TC
        assert len(each.answer[0][0].strings) == 20
    assert [request.datagram for request in listening.world.plugin.seen] == [True, False, True, False]


async def test_a_zone_transfer(monkeypatch: pytest.MonkeyPatch) -> None:
    def transfer(request: Request) -> Reply:
        assert not request.datagram
        reply = authoritative(request.query, (txt(request.query.qname, 5, b"x"),))
        return reply.replace(more=(reply, reply))

    monkeypatch.setattr("support.listening.answer", transfer)
    async with Listening("quic") as listening, connected(listening.port) as client:
        wire = dns.message.make_query("a.", consts.TYPE_AXFR, id=0).to_wire()
        data = await client.answer(client.send(stream(wire)))
    sizes = []
    while data:
        size = int.from_bytes(data[:2], "big")
        assert dns.message.from_wire(data[2 : 2 + size]).answer
        sizes.append(size)
        data = data[2 + size :]
    assert len(sizes) == 3


class TestHostileClients:
    async def test_streams_that_stall(self) -> None:
        """S10: streams with one byte each."""
        limits = Limits(connections=200, streams=20, waiting=100)
        async with Listening("quic", limits=limits) as listening, connected(listening.port) as bad:
            for _ in range(100):
                bad.send(b"\0", end=False)
            await bad.until(lambda: len(bad.reset) >= 80)
            assert set(bad.reset.values()) == {4}
            async with connected(listening.port) as good:
                assert message(await good.answer(good.send(stream(query("a.", 0))))).answer

    async def test_a_stalled_stream_is_given_up(self) -> None:
        async with Listening("quic", timeouts=Timeouts(read=0.2)) as listening, connected(listening.port) as client:
            number = client.send(b"\0", end=False)
            await client.until(lambda: number in client.reset)
            assert client.reset == {number: 3}
            assert message(await client.answer(client.send(stream(query("a.", 0))))).answer

    async def test_unfinished_queries_are_bounded(self) -> None:
        async with Listening("quic") as listening, connected(listening.port) as client:
            for _ in range(5):
                client.send((65_000).to_bytes(2, "big") + bytes(64_900), end=False)
            assert await client.code() == 4

    async def test_data_with_gaps_is_bounded(self) -> None:
        """The library keeps what comes behind a gap, the gap included, and raises the window as it goes."""
        async with Listening("quic") as listening, connected(listening.port) as client:
            for _ in range(5):
                number = client.send(b"\0", end=False)
                sender = client._quic._streams[number].sender
                await until(lambda sender=sender: client.closed or not sender._buffer)
                sender._buffer_start = sender._buffer_stop = sender._buffer_stop + 100_000
                client.send(b"x", stream=number, end=False)
            assert await client.code() == 4

    async def test_too_many_that_wait(self) -> None:
        limits = Limits(connections=200, streams=256, waiting=3)
        async with Listening("quic", limits=limits) as listening, connected(listening.port) as client:
            numbers = [client.send(stream(query(f"slow{n}.", 0))) for n in range(5)]
            await client.until(lambda: len(client.reset) == 2)
            assert client.reset == dict.fromkeys(numbers[3:], 4)
            assert statuses(listening) == {"0x4": 2}
            for event in listening.world.plugin.waiting.values():
                event.set()
            assert message(await client.answer(numbers[0])).answer

    async def test_one_connection_too_many(self) -> None:
        limits = Limits(connections=2, streams=256, waiting=100)
        async with (
            Listening("quic", limits=limits) as listening,
            connected(listening.port) as first,
            connected(listening.port) as second,
        ):
            first.send(stream(query("slow.", 0)))
            await second.answer(second.send(stream(query("a.", 0))))
            async with connected(listening.port) as third:
                assert message(await third.answer(third.send(stream(query("a.", 0))))).answer
                assert await second.code() == 4
                assert first.closed is None
            assert listening.world.dropped("connections") == 1

    async def test_a_handshake_that_never_ends(self) -> None:
        async with Listening("quic", timeouts=Timeouts(read=0.1)) as listening:
            hello = first_datagram(configuration(alpn="doq"))
            loop = asyncio.get_running_loop()
            transport, _ = await loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=("127.0.0.1", listening.port)
            )
            transport.sendto(hello)
            await until(lambda: peers(listening) == 1)
            await until(lambda: peers(listening) == 0)
            transport.close()

    async def test_many_unproven_clients_have_to_prove_themselves(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(quic, "_UNPROVEN", 3)
        async with Listening("quic") as listening:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=("127.0.0.1", listening.port)
            )
            for _ in range(20):
                transport.sendto(first_datagram(configuration()))
            await until(lambda: peers(listening) == 3)
            async with connected(listening.port) as client:
                assert message(await client.answer(client.send(stream(query("a.", 0))))).answer
            assert peers(listening) <= 4
            transport.close()

    @pytest.mark.parametrize("data", [b"", b"\x40" + bytes(20), b"\xc0" + bytes(1300), b"\xff" * 1300, bytes(1300)])
    async def test_what_is_no_quic(self, data: bytes) -> None:
        async with Listening("quic") as listening:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.create_datagram_endpoint(
                asyncio.DatagramProtocol, remote_addr=("127.0.0.1", listening.port)
            )
            for _ in range(20):
                transport.sendto(data)
            async with connected(listening.port) as client:
                assert message(await client.answer(client.send(stream(query("a.", 0))))).answer
            transport.close()


class TestLifeCycle:
    async def test_a_session_is_taken_up_again_once(self) -> None:
        tickets: list[Any] = []
        async with Listening("quic") as listening:
            async with connected(listening.port, session_ticket_handler=tickets.append) as client:
                await client.answer(client.send(stream(query("a.", 0))))
                await client.until(lambda: tickets)
            for resumed in (True, False):
                again = configuration(session_ticket=tickets[0])
                async with connected(listening.port, again) as client:
                    assert message(await client.answer(client.send(stream(query("a.", 0))))).answer
                    assert client.resumed is resumed

    async def test_another_server_takes_over(self) -> None:
        async with Listening("quic") as listening, connected(listening.port) as client:
            await client.answer(client.send(stream(query("a.", 0))))
            successor = Listening("quic")
            successor.listener.sock.close()  # type: ignore[attr-defined]
            await listening.listener.serve(successor.world.server, listening.terms)
            await client.answer(client.send(stream(query("a.", 0))))
            assert len(listening.world.plugin.seen) == len(successor.world.plugin.seen) == 1

    async def test_what_has_arrived_is_answered_before_it_closes(self) -> None:
        listening = Listening("quic")
        await listening.listener.serve(listening.world.server, listening.terms)
        async with connected(listening.port) as client:
            number = client.send(stream(query("slow.", 0)))
            await until(lambda: listening.world.plugin.waiting)
            closing = asyncio.create_task(listening.listener.close())
            await asyncio.sleep(0.05)
            assert not closing.done()
            listening.world.plugin.waiting[b"slow"].set()
            assert message(await client.answer(number)).answer
            await closing
            assert await client.code() == 0

    async def test_an_old_connection_gives_way(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(quicpeer, "_MAX_STREAM", 8)
        async with Listening("quic") as listening, connected(listening.port) as client:
            for _ in range(3):
                assert message(await client.answer(client.send(stream(query("a.", 0))))).answer
            assert await client.code() == 0

    def test_a_certificate_that_cannot_be_used(self) -> None:
        with pytest.raises(CorefileError, match="could not load TLS cert"):
            configure(TlsSettings(CA.replace("ca.pem", "server.key"), CA))

    def test_tickets_are_bounded(self) -> None:
        tickets = Tickets()
        for n in range(2000):
            tickets.keep(_Ticket(n))  # type: ignore[arg-type]
        assert tickets.take(_Ticket(0).ticket) is None
        assert tickets.take(_Ticket(1999).ticket) is not None
        assert tickets.take(_Ticket(1999).ticket) is None


class _Ticket:
    def __init__(self, number: int) -> None:
        self.ticket = number.to_bytes(4, "big")


def peers(listening: Listening) -> int:
    assert isinstance(listening.listener, quic.QuicListener)
    return len(listening.listener._peers)


def first_datagram(settings: Any) -> bytes:
    """The first thing that a client says."""
    connection = QuicConnection(configuration=settings)
    connection.connect(("127.0.0.1", 1), now=0.0)
    return bytes(connection.datagrams_to_send(now=0.0)[0][0])


async def until(condition: Any) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
