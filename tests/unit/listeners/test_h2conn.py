"""HTTP/2 without a socket, spoken to by the client side of the library, and by hand where no library would."""

from __future__ import annotations

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
import pytest

from waypost.listeners.h2conn import Http2Codec
from waypost.listeners.http import Asked, Cancelled, Event, HttpResponse, Violation

HEADERS = [(":method", "POST"), (":path", "/p"), (":scheme", "https"), (":authority", "a"), ("x", "y")]
OK = HttpResponse(200, ((b"content-type", b"text/plain"),), b"hello")
RST_STREAM, GOAWAY = 3, 7


class Talk:
    """A client and our codec."""

    def __init__(self, *, max_body: int = 100, streams: int = 10, window: int = 65535) -> None:
        self.codec = Http2Codec(max_body, streams)
        self.client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
        codes = h2.settings.SettingCodes
        self.client.local_settings = h2.settings.Settings(
            client=True, initial_values={codes.INITIAL_WINDOW_SIZE: window}
        )
        self.client.initiate_connection()
        self.now = 0.0
        self.exchange()

    def exchange(self) -> list[Event]:
        """What the client has to say, and then the server; gives our events."""
        found = list(self.codec.receive(self.client.data_to_send(), self.now))
        self.hear()
        return found

    def hear(self) -> list[h2.events.Event]:
        return self.client.receive_data(self.codec.data_to_send())

    def ask(self, body: bytes = b"", *, end: bool = True, stream: int | None = None) -> list[Event]:
        stream = stream or self.client.get_next_available_stream_id()
        self.client.send_headers(stream, HEADERS, end_stream=end and not body)
        if body:
            self.client.send_data(stream, body, end_stream=end)
        return self.exchange()


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


def test_a_request_and_its_response() -> None:
    talk = Talk()
    (event,) = talk.ask(b"body")
    assert isinstance(event, Asked)
    assert (event.stream, event.request.method, event.request.target) == (1, b"POST", b"/p")
    assert event.request.body == b"body"
    assert event.request.headers[b"x"] == b"y"
    talk.codec.send(1, OK)
    kinds = [type(each) for each in talk.hear()]
    assert kinds == [h2.events.ResponseReceived, h2.events.DataReceived, h2.events.StreamEnded]


def test_byte_by_byte() -> None:
    talk = Talk()
    talk.client.send_headers(1, HEADERS, end_stream=True)
    events: list[Event] = []
    for byte in talk.client.data_to_send():
        events += talk.codec.receive(bytes((byte,)), 0.0)
    assert len(events) == 1


def test_responses_in_any_order_and_trailers() -> None:
    talk = Talk()
    talk.ask()
    talk.ask()
    talk.codec.send(3, OK._replace(trailers=((b"grpc-status", b"0"),)))
    talk.codec.send(1, HttpResponse(204, ()))
    events = talk.hear()
    trailers = next(each for each in events if isinstance(each, h2.events.TrailersReceived))
    assert dict(trailers.headers) == {"grpc-status": "0"}
    assert [each.stream_id for each in events if isinstance(each, h2.events.StreamEnded)] == [3, 1]


def test_a_response_waits_for_the_client_s_window() -> None:
    talk = Talk(window=10)
    talk.ask()
    talk.codec.send(1, OK._replace(body=bytes(25)))
    assert talk.codec.unsent == 15
    got = sum(len(each.data or b"") for each in talk.hear() if isinstance(each, h2.events.DataReceived))
    talk.client.increment_flow_control_window(100, 1)
    talk.exchange()
    assert (got, talk.codec.unsent) == (10, 0)


def test_a_client_that_takes_no_responses_is_cut_off() -> None:
    talk = Talk(window=0, streams=200)
    with pytest.raises(Violation):  # noqa: PT012
        for _ in range(100):
            (event,) = talk.ask()
            assert isinstance(event, Asked)
            talk.codec.send(event.stream, OK._replace(body=bytes(65535)))
    assert talk.codec.unsent < 2_000_000


def test_a_body_that_is_too_long() -> None:
    talk = Talk()
    (event,) = talk.ask(bytes(101), end=False)
    assert isinstance(event, Asked)
    assert event.request.body is None
    talk.codec.send(1, OK)
    reset = next(each for each in talk.hear() if isinstance(each, h2.events.StreamReset))
    assert reset.error_code == h2.errors.ErrorCodes.NO_ERROR


def test_unfinished_bodies_are_bounded_by_the_window() -> None:
    """Every stream holds as much as it may, and none ends: the client runs out of what it may send."""
    talk = Talk(max_body=65_535, streams=100)
    with pytest.raises(h2.exceptions.FlowControlError):  # noqa: PT012 - it is the client's own library that stops it
        for n in range(1, 40, 2):
            talk.client.send_headers(n, HEADERS)
            for _ in range(4):
                talk.client.send_data(n, bytes(16_000))
            talk.exchange()
    assert sum(len(each.body) for each in talk.codec._inbound.values()) <= 1 << 18


def test_the_window_is_given_back() -> None:
    talk = Talk(max_body=65_535)
    for n in range(1, 41, 2):
        talk.client.send_headers(n, HEADERS)
        for _ in range(4):
            talk.client.send_data(n, bytes(16_000))
        talk.client.end_stream(n)
        (event,) = talk.exchange()
        assert isinstance(event, Asked)
        talk.codec.send(n, OK)
        talk.hear()


def test_a_request_that_is_taken_back() -> None:
    talk = Talk()
    talk.ask()
    talk.client.reset_stream(1)
    assert talk.exchange() == [Cancelled(1)]
    talk.codec.send(1, OK)
    assert talk.codec.data_to_send() == b""


def test_rapid_reset_ends_the_connection() -> None:
    talk = Talk()
    with pytest.raises(Violation, match="nothing"):  # noqa: PT012
        for stream in range(1, 4001, 2):
            talk.ask(stream=stream)
            talk.client.reset_stream(stream)
            talk.exchange()
    assert talk.codec.data_to_send()[3] == GOAWAY


def test_taking_back_now_and_then_is_allowed() -> None:
    talk = Talk()
    for n in range(1, 4001, 2):
        talk.now += 0.1
        talk.ask(stream=n)
        talk.client.reset_stream(n)
        talk.exchange()


@pytest.mark.parametrize(
    "data",
    [
        frame(6, 0, 0, bytes(8)),
        frame(4, 0, 0),
        frame(2, 0, 99, bytes(5)),
        frame(8, 0, 0, b"\0\0\0\1"),
        frame(0xFA, 0, 0),
    ],
    ids=["ping", "settings", "priority", "window", "unknown"],
)
def test_a_flood_of_frames_that_ask_for_nothing(data: bytes) -> None:
    talk = Talk()
    with pytest.raises(Violation):  # noqa: PT012
        for _ in range(2000):
            list(talk.codec.receive(data, 0.0))
            talk.codec.data_to_send()


def test_a_flood_of_empty_pieces_of_a_body() -> None:
    talk = Talk()
    talk.client.send_headers(1, HEADERS)
    talk.exchange()
    with pytest.raises(Violation):  # noqa: PT012
        for _ in range(2000):
            list(talk.codec.receive(frame(0, 0, 1), 0.0))


def test_a_flood_of_continuations() -> None:
    talk = Talk()
    list(talk.codec.receive(frame(1, 0, 1), 0.0))
    with pytest.raises(Violation):  # noqa: PT012
        for _ in range(1000):
            list(talk.codec.receive(frame(9, 0, 1), 0.0))


def test_headers_that_are_too_long() -> None:
    talk = Talk()
    talk.client.send_headers(1, [*HEADERS, ("long", "x" * 17_000)], end_stream=True)
    with pytest.raises(Violation):
        talk.exchange()
    assert talk.codec.data_to_send()


def test_a_compressed_bomb_of_headers() -> None:
    """A short reference to a long entry, many times."""
    talk = Talk()
    talk.client.send_headers(1, [*HEADERS, *[("long", "x" * 3000)] * 10], end_stream=True)
    with pytest.raises(Violation):
        talk.exchange()


def test_more_streams_than_are_allowed() -> None:
    talk = Talk(streams=3)
    talk.client.remote_settings.update({h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: 100})
    talk.client.remote_settings.acknowledge()
    with pytest.raises(Violation):  # noqa: PT012
        for _ in range(4):
            talk.ask()


def test_no_http_at_all() -> None:
    codec = Http2Codec(100, 10)
    with pytest.raises(Violation):
        list(codec.receive(b"GET / HTTP/1.1\r\n\r\n" + bytes(20), 0.0))


class TestGoodbye:
    def test_what_has_begun_is_answered(self) -> None:
        talk = Talk()
        talk.ask()
        talk.codec.say_goodbye()
        assert not talk.codec.closing
        assert talk.hear() == []
        talk.codec.send(1, OK)
        assert talk.codec.closing
        events = talk.hear()
        assert [each.data for each in events if isinstance(each, h2.events.DataReceived)] == [b"hello"]
        goodbye = events[-1]
        assert isinstance(goodbye, h2.events.ConnectionTerminated)
        assert (goodbye.error_code, goodbye.last_stream_id) == (0, 1)

    def test_what_comes_later_is_refused(self) -> None:
        talk = Talk()
        talk.ask()
        talk.codec.say_goodbye()
        talk.client.send_headers(3, HEADERS, end_stream=True)
        assert list(talk.codec.receive(talk.client.data_to_send(), 0.0)) == []
        out = talk.codec.data_to_send()
        assert out[3] == RST_STREAM
        assert out[9:13] == h2.errors.ErrorCodes.REFUSED_STREAM.to_bytes(4, "big")

    def test_a_connection_does_not_live_for_ever(self) -> None:
        talk = Talk()
        talk.ask(stream=20_001)
        talk.codec.send(20_001, OK)
        assert talk.codec.closing

    def test_the_client_says_it(self) -> None:
        talk = Talk()
        talk.client.close_connection()
        talk.exchange()
        assert talk.codec.closing
