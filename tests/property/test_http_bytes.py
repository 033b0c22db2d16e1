"""Whatever bytes come: HTTP connections take them, or end by a `Violation`."""

from __future__ import annotations

from contextlib import suppress

import h2.config
import h2.connection
from hypothesis import given
from hypothesis import strategies as st

from waypost.listeners.h1conn import Http1Codec
from waypost.listeners.h2conn import Http2Codec
from waypost.listeners.http import Asked, Codec, HttpResponse, Violation

OK = HttpResponse(200, ((b"content-type", b"text/plain"),), b"hello")
POST = b"POST /dns-query HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
HEADERS = [(":method", "POST"), (":path", "/"), (":scheme", "https"), (":authority", "a")]


def preface() -> bytes:
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True))
    client.initiate_connection()
    for stream in (1, 3):
        client.send_headers(stream, HEADERS)
        client.send_data(stream, b"abc", end_stream=stream == 3)
    return bytes(client.data_to_send())


PREFACE = preface()
FRAME = st.builds(
    lambda kind, flags, stream, payload: (
        len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload
    ),
    st.integers(0, 12),
    st.integers(0, 255),
    st.integers(0, 9),
    st.binary(max_size=40),
)


def feed(codec: Codec, pieces: list[bytes]) -> None:
    """As a connection does."""
    with suppress(Violation):
        for piece in pieces:
            for event in codec.receive(piece, 0.0):
                if isinstance(event, Asked):
                    codec.send(event.stream, OK)
            codec.data_to_send()
    codec.say_goodbye()
    codec.data_to_send()


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(POST), st.sampled_from([b"\r\n", b"GET ", b" HTTP/1.1"]))))
def test_http1(pieces: list[bytes]) -> None:
    feed(Http1Codec(10), pieces)


@given(st.lists(FRAME, max_size=20), st.booleans())
def test_http2_frames(frames: list[bytes], together: bool) -> None:
    feed(Http2Codec(100, 10), [PREFACE + b"".join(frames)] if together else [PREFACE, *frames])


@given(st.data())
def test_http2_with_changed_bytes(data: st.DataObject) -> None:
    wire = bytearray(PREFACE)
    for _ in range(data.draw(st.integers(1, 6))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(wire)))
    feed(Http2Codec(100, 10), [bytes(wire[:cut]), bytes(wire[cut:])])
