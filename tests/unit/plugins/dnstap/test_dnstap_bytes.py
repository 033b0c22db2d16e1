"""dnstap's bytes: payloads decoded by protobuf, control frames as the specification has them, the bounded queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dnstap import ACCEPT, FINISH, READY, START, STOP, decode
from waypost.plugins.dnstap import frames
from waypost.plugins.dnstap.frames import CONTENT_TYPE, Control, FrameError
from waypost.plugins.dnstap.payload import CLIENT_QUERY, FORWARDER_RESPONSE, TCP, UDP, Envelope, Event, encode_event
from waypost.plugins.dnstap.queue import FrameQueue

V4, V6 = bytes([192, 0, 2, 9]), bytes.fromhex("20010db8000000000000000000000001")
MAPPED = bytes(10) + b"\xff\xff" + V4


def test_a_query() -> None:
    event = Event(CLIENT_QUERY, UDP, 1_700_000_000_000_000_007, V4, 40000, query=b"query")
    found = decode(Envelope(b"ns1", b"v").wrap(encode_event(event), b"more"))
    assert (found.type, found.identity, found.version, found.extra) == (1, b"ns1", b"v", b"more")
    message = found.message
    assert (message.type, message.socket_family, message.socket_protocol) == (5, 1, 1)
    assert (message.query_address, message.query_port) == (V4, 40000)
    assert (message.query_time_sec, message.query_time_nsec) == (1_700_000_000, 7)
    assert message.query_message == b"query"
    assert not any(message.HasField(name) for name in ("response_address", "response_time_sec", "response_message"))


def test_a_reply_of_an_upstream() -> None:
    event = Event(FORWARDER_RESPONSE, TCP, 5, b"", 0, V6, 53, 1_999_999_999, b"", b"reply")
    found = decode(Envelope(b"", b"").wrap(encode_event(event)))
    assert not any(found.HasField(name) for name in ("identity", "version", "extra"))
    message = found.message
    assert (message.type, message.socket_family, message.socket_protocol) == (8, 2, 2)
    assert (message.response_address, message.response_port) == (V6, 53)
    assert (message.response_time_sec, message.response_time_nsec) == (1, 999_999_999)
    assert message.response_message == b"reply"
    assert not any(message.HasField(name) for name in ("query_address", "query_port", "query_message"))


def test_ipv4_written_in_ipv6_is_ipv4() -> None:
    message = decode(Envelope(b"", b"").wrap(encode_event(Event(CLIENT_QUERY, UDP, 1, MAPPED, 1)))).message
    assert (message.socket_family, message.query_address) == (1, V4)


@given(
    st.builds(
        Event,
        st.sampled_from([5, 6, 7, 8]),
        st.sampled_from([1, 2, 3, 4, 7]),
        st.integers(0, 2**63 - 1),
        st.sampled_from([b"", V4, V6]),
        st.integers(0, 65535),
        st.sampled_from([b"", V4, V6]),
        st.integers(0, 65535),
        st.integers(0, 2**63 - 1),
        st.binary(max_size=400),
        st.binary(max_size=400),
    ),
    st.binary(max_size=300),
)
def test_any_event(event: Event, extra: bytes) -> None:
    found = decode(Envelope(b"i" * 200, b"v").wrap(encode_event(event), extra))
    message = found.message
    assert found.extra == extra
    assert message.query_time_sec * 10**9 + message.query_time_nsec == event.query_time
    assert message.response_time_sec * 10**9 + message.response_time_nsec == event.response_time
    assert (message.query_message, message.response_message) == (event.query, event.response)
    assert (message.query_address, message.response_address) == (event.query_address, event.response_address)
    assert message.query_port == (event.query_port if event.query_address else 0)


@pytest.mark.parametrize(
    ("control", "wire"),
    [
        (Control(frames.READY, (CONTENT_TYPE,)), READY),
        (Control(frames.ACCEPT, (CONTENT_TYPE,)), ACCEPT),
        (Control(frames.START, (CONTENT_TYPE,)), START),
        (Control(frames.STOP), STOP),
        (Control(frames.FINISH), FINISH),
    ],
)
def test_control_frames(control: Control, wire: bytes) -> None:
    assert frames.encode(control) == wire
    assert frames.control_length(wire[:8]) == len(wire) - 8
    assert frames.decode(wire[8:]) == control


def test_fields_of_later_versions_are_skipped() -> None:
    body = b"\0\0\0\x01" + b"\0\0\0\x09\0\0\0\x02ab" + b"\0\0\0\x01\0\0\0\x01x"
    assert frames.decode(body) == Control(frames.ACCEPT, (b"x",))


@pytest.mark.parametrize("head", ["0000000100000004", "0000000000000003", "0000000000000201", "48545450 2f312e31"])
def test_heads_of_something_else(head: str) -> None:
    with pytest.raises(FrameError):
        frames.control_length(bytes.fromhex(head))


@given(st.binary(min_size=4, max_size=frames.MAX_CONTROL))
def test_any_control_frame_is_read_or_refused(body: bytes) -> None:
    try:
        control = frames.decode(body)
    except FrameError:
        return
    assert all(each in body for each in control.content_types)


def test_the_queue_is_bounded_in_frames_and_bytes() -> None:
    queue = FrameQueue(3)
    assert [queue.put(b"x") for _ in range(4)] == [True, True, True, False]
    assert queue.arrived.is_set()
    assert queue.take() == [frames.data(b"x")] * 3
    assert not queue.arrived.is_set()
    assert queue.take() == []
    large = bytes(10_000)
    assert [queue.put(large) for _ in range(3)] == [True, True, False]
    assert len(queue.take()) == 2
    assert not queue.full


def test_a_batch_is_bounded() -> None:
    queue = FrameQueue(1000)
    for _ in range(100):
        queue.put(bytes(3000))
    assert len(queue.take()) == 22
    assert queue.arrived.is_set()


def test_a_closed_queue_still_says_that_there_is_something_to_do() -> None:
    queue = FrameQueue(3)
    queue.close()
    assert queue.take() == []
    assert queue.arrived.is_set()
