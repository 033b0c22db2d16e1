"""TLS between a transport and a protocol, both of ours, spoken to by the ssl module over memory."""

from __future__ import annotations

import asyncio
import ssl

import pytest

from support.listening import FakeTransport
from support.secure import CA, SERVER_NAME, TLS, trusting
from waypost.dispatch.transports import TlsSettings
from waypost.listeners.certificates import server_context
from waypost.listeners.tls import Handshakes, TlsStream


class Inner(asyncio.Protocol):
    """Remembers what it is told; `keep` is what it says of an end of file."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.got: list[bytes] = []
        self.lost = False
        self.ended = 0
        self.keep = False
        self.pauses = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.got.append(data)

    def eof_received(self) -> bool:
        self.ended += 1
        return self.keep

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True

    def pause_writing(self) -> None:
        self.pauses += "p"

    def resume_writing(self) -> None:
        self.pauses += "r"


class Client:
    """A client of one stream."""

    def __init__(self, context: ssl.SSLContext | None = None, settings: TlsSettings = TLS) -> None:
        self.failures: list[str] = []
        self.inner = Inner()
        self.tcp = FakeTransport()
        self.stream = TlsStream(self.inner, server_context(settings, ("h2",)), Handshakes(self.failures.append))
        self.tcp.connect(self.stream)
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = (context or trusting()).wrap_bio(self._in, self._out, server_hostname=SERVER_NAME)
        self._read = 0

    def deliver(self, size: int = 1 << 20) -> None:
        """What the client has to say reaches the server in pieces, and the other way round."""
        data = self._out.read()
        for start in range(0, len(data), size):
            self.stream.data_received(data[start : start + size])
        self.hear()

    def hear(self) -> None:
        written = self.tcp.written
        self._in.write(written[self._read :])
        self._read = len(written)

    async def shake_hands(self, size: int = 1 << 20) -> None:
        for _ in range(6):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            else:
                self.deliver(size)
                await asyncio.sleep(0)
                self.hear()
                return
            self.deliver(size)
            await asyncio.sleep(0)
            self.hear()
        raise AssertionError("no handshake")

    def send(self, data: bytes) -> None:
        self.tls.write(data)
        self.deliver()

    def read(self) -> bytes:
        self.hear()
        return self.tls.read(1 << 16)


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
async def test_a_conversation(size: int) -> None:
    client = Client()
    assert client.inner.transport is client.stream, "the clock of the protocol runs from the start"
    await client.shake_hands(size)
    client.send(b"question")
    assert client.inner.got == [b"question"]
    client.stream.write(b"answer" * 10_000)
    assert client.read() == (b"answer" * 10_000)[:16384]
    assert client.failures == []


async def test_the_protocol_that_was_agreed_on() -> None:
    client = Client(trusting(["h2", "http/1.1"]))
    assert client.stream.get_extra_info("ssl_object") is None
    await client.shake_hands()
    assert client.stream.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
    assert client.stream.get_extra_info("peername") == ("192.0.2.9", 40000)


async def test_nothing_is_delivered_while_paused() -> None:
    client = Client()
    await client.shake_hands()
    client.stream.pause_reading()
    assert not client.tcp.is_reading()
    client.send(b"one")
    client.send(b"two")
    assert client.inner.got == []
    client.stream.resume_reading()
    await asyncio.sleep(0)
    assert client.inner.got == [b"one", b"two"]
    assert client.tcp.is_reading()


async def test_a_farewell_is_an_end_of_file() -> None:
    client = Client()
    await client.shake_hands()
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    client.deliver()
    assert client.inner.ended == 1
    assert client.tcp.state == "closed"


async def test_an_answer_may_follow_the_client_s_farewell() -> None:
    client = Client()
    client.inner.keep = True
    await client.shake_hands()
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    client.deliver()
    client.stream.write(b"late")
    client.stream.close()
    client.hear()
    assert client.tcp.state == "closed"


async def test_half_close_says_farewell_and_throws_the_rest_away() -> None:
    client = Client()
    await client.shake_hands()
    assert client.stream.can_write_eof()
    client.stream.write_eof()
    assert client.tcp.state == "half closed"
    client.hear()
    assert client.tls.read(1) == b"", "the farewell"
    client.stream.data_received(b"\x17\x03\x03 whatever")
    assert client.inner.got == []


async def test_what_is_no_tls_ends_the_connection() -> None:
    client = Client()
    client.stream.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    await asyncio.sleep(0)
    assert client.failures == ["http request"]
    assert client.tcp.state == "closed"
    await asyncio.sleep(0)
    assert client.inner.lost


async def test_a_handshake_that_never_ends_holds_no_memory() -> None:
    client = Client()
    for _ in range(5):
        client.stream.data_received(b"\x16\x03\x01" + bytes(16381))
    assert client.tcp.state == "aborted"


async def test_garbage_behind_the_handshake() -> None:
    client = Client()
    await client.shake_hands()
    client.stream.data_received(b"\x17\x03\x03\x00\x20" + bytes(32))
    assert len(client.failures) == 1
    assert client.tcp.state == "closed"


async def test_an_old_version_is_refused() -> None:
    context = trusting()
    with pytest.warns(DeprecationWarning, match="TLS"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    client = Client(context)
    with pytest.raises((AssertionError, ssl.SSLError)):
        await client.shake_hands()
    assert client.inner.got == []


class TestClientCertificates:
    async def test_one_that_is_asked_for(self) -> None:
        settings = TlsSettings(TLS.certificate, TLS.key, CA, "require_and_verify")
        client = Client(trusting(client=True), settings)
        await client.shake_hands()
        client.send(b"question")
        assert client.inner.got == [b"question"]

    async def test_none(self) -> None:
        settings = TlsSettings(TLS.certificate, TLS.key, CA, "require_and_verify")
        client = Client(trusting(), settings)
        await client.shake_hands()
        client.send(b"question")
        assert client.inner.got == []
        assert client.failures == ["peer did not return a certificate"]
        client.hear()
        with pytest.raises(ssl.SSLError, match=r"(?i)certificate.required"):
            client.tls.read(1)

    async def test_none_where_one_is_checked_if_it_is_there(self) -> None:
        settings = TlsSettings(TLS.certificate, TLS.key, CA, "verify_if_given")
        client = Client(trusting(), settings)
        await client.shake_hands()
        client.send(b"question")
        assert client.inner.got == [b"question"]


async def test_a_crowd_takes_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    shaken: list[int] = []
    handshakes = Handshakes(lambda text: None)
    context = server_context(TLS)
    streams = [TlsStream(Inner(), context, handshakes) for _ in range(10)]
    monkeypatch.setattr(TlsStream, "shake_hands", lambda self: shaken.append(streams.index(self)))
    for stream in (*streams, *streams):
        handshakes.ask(stream)
    seen = []
    for _ in range(4):
        await asyncio.sleep(0)
        seen.append(len(shaken))
    assert shaken == list(range(10))
    assert seen == [4, 8, 10, 10]
