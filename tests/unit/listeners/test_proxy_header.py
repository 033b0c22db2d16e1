"""PROXY headers: those of the specification, and everything that is almost one."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.listeners.proxy_header import BadHeader, Header, Verdict, parse_header

SIGNATURE = bytes.fromhex("0d0a0d0a000d0a515549540a")
V4 = bytes([192, 0, 2, 9]) + bytes([192, 0, 2, 1]) + struct.pack("!HH", 40000, 53)
V6 = bytes.fromhex("20010db8000000000000000000000009" * 2) + struct.pack("!HH", 40000, 53)
SOURCE_V4, SOURCE_V6 = ("192.0.2.9", 40000), ("2001:db8::9", 40000, 0, 0)


def v2(command: int = 0x21, kind: int = 0x11, body: bytes = V4, length: int | None = None) -> bytes:
    return SIGNATURE + struct.pack("!BBH", command, kind, len(body) if length is None else length) + body


@pytest.mark.parametrize(
    ("line", "source"),
    [
        (b"PROXY TCP4 192.0.2.9 192.0.2.1 40000 53\r\n", SOURCE_V4),
        (b"PROXY TCP6 2001:db8::9 ::1 40000 53\r\n", SOURCE_V6),
        (b"PROXY UNKNOWN\r\n", None),
        (b"PROXY UNKNOWN ffff:f:f:f:f:f:f:ffff ffff:f:f:f:f:f:f:ffff 65535 65535\r\n", None),
    ],
)
def test_version_1(line: bytes, source: object) -> None:
    assert parse_header(line + b"rest", datagram=False) == Header(source, len(line))  # type: ignore[arg-type]
    for end in range(len(line)):
        assert parse_header(line[:end], datagram=False) is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    "line",
    [
        b"PROXY TCP4 192.0.2.9 192.0.2.1 40000\r\n",
        b"PROXY TCP4 192.0.2.9 192.0.2.1 40000 53 7\r\n",
        b"PROXY TCP4  192.0.2.9 192.0.2.1 40000 53\r\n",
        b"PROXY TCP4 2001:db8::9 ::1 40000 53\r\n",
        b"PROXY TCP6 192.0.2.9 192.0.2.1 40000 53\r\n",
        b"PROXY TCP4 192.0.2.999 192.0.2.1 40000 53\r\n",
        b"PROXY TCP4 192.0.2.9 nowhere 40000 53\r\n",
        b"PROXY TCP4 192.0.2.9 192.0.2.1 70000 53\r\n",
        b"PROXY TCP4 192.0.2.9 192.0.2.1 040 53\r\n",
        b"PROXY TCP4 192.0.2.9 192.0.2.1 +40 53\r\n",
        b"PROXY TCP4 192.0.2.9 192.0.2.1 \xd9\xa1 53\r\n",
        b"PROXY TCP4 192.0.2.9 192.0.2.1 40000 " + b"9" * 60 + b"\r\n",
        b"PROXY UDP4 192.0.2.9 192.0.2.1 40000 53\r\n",
        b"PROXY \r\n",
        b"PROXY TCP6 fe80::1%eth0 ::1 40000 53\r\n",
        b"PROXY UNKNOWN " + b"x" * 200,
    ],
)
def test_version_1_that_is_none(line: bytes) -> None:
    with pytest.raises(BadHeader):
        parse_header(line, datagram=False)


@pytest.mark.parametrize(
    ("header", "source"),
    [
        (v2(), SOURCE_V4),
        (v2(kind=0x12), SOURCE_V4),
        (v2(kind=0x21, body=V6), SOURCE_V6),
        (v2(body=V4 + b"\x04\0\x03abc"), SOURCE_V4),
        (v2(command=0x20, kind=0x11), None),
        (v2(command=0x20, kind=0, body=b""), None),
        (v2(kind=0, body=b""), None),
    ],
)
def test_version_2(header: bytes, source: object) -> None:
    assert parse_header(header + b"rest", datagram=False) == Header(source, len(header))  # type: ignore[arg-type]
    for end in range(len(header)):
        assert parse_header(header[:end], datagram=False) is Verdict.INCOMPLETE


@pytest.mark.parametrize(
    "header",
    [
        v2(command=0x11),
        v2(command=0x22),
        v2(kind=0x10),
        v2(kind=0x13),
        v2(kind=0x31, body=bytes(216)),
        v2(kind=0x41),
        v2(kind=0x21, body=V4),
        v2(length=0, body=b""),
        v2(length=65535),
    ],
)
def test_version_2_that_is_none(header: bytes) -> None:
    with pytest.raises(BadHeader):
        parse_header(header, datagram=False)


def test_datagrams_have_version_2_of_datagrams() -> None:
    header = v2(kind=0x12)
    assert parse_header(header, datagram=True) == Header(SOURCE_V4, len(header))
    assert parse_header(v2(kind=0x22, body=V6) + b"rest", datagram=True).source == SOURCE_V6  # type: ignore[union-attr]
    assert parse_header(v2(command=0x20, kind=0, body=b""), datagram=True).source is None  # type: ignore[union-attr]
    for bad in (v2(kind=0x11), header[:-1], SIGNATURE, b"PROXY UNKNOWN\r\n"):
        with pytest.raises(BadHeader):
            parse_header(bad, datagram=True)


@pytest.mark.parametrize("data", [b"\x12\x34\x01\0\0\x01", b"GET / HTTP/1.1\r\n", b"PROXX", b"\r\n\r\n\0\r\nQUIX"])
@pytest.mark.parametrize("datagram", [False, True])
def test_what_is_no_header(data: bytes, datagram: bool) -> None:
    assert parse_header(data, datagram=datagram) is Verdict.ABSENT


@pytest.mark.parametrize("data", [b"", b"P", b"PROXY", b"\r", SIGNATURE[:11]])
def test_datagrams_too_short_for_anything(data: bytes) -> None:
    assert parse_header(data, datagram=True) is Verdict.ABSENT


@given(st.sampled_from([b"", b"PROXY ", b"PROXY TCP4 ", SIGNATURE, SIGNATURE + b"\x21\x11"]), st.binary(max_size=300),
       st.booleans())  # fmt: skip
def test_any_bytes_are_judged(start: bytes, rest: bytes, datagram: bool) -> None:
    data = start + rest
    try:
        found = parse_header(data, datagram=datagram)
    except BadHeader:
        return
    if isinstance(found, Header):
        assert 0 < found.size <= len(data)
        assert parse_header(data[: found.size], datagram=datagram) == found
