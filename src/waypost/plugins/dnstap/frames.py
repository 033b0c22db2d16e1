"""Frame Streams: payloads with their length in front, and control frames around them.

A control frame is a length of 0 and then a frame of its own: its kind and its fields. Who sends payloads offers a
content type (READY), is told that it is taken (ACCEPT), says START, and in the end STOP, which is answered by FINISH.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

ACCEPT: Final = 1
START: Final = 2
STOP: Final = 3
READY: Final = 4
FINISH: Final = 5

CONTENT_TYPE: Final = b"protobuf:dnstap.Dnstap"
MAX_CONTROL: Final = 512

_FIELD_CONTENT_TYPE: Final = 1
_LENGTH: Final = struct.Struct("!I")
_ESCAPE: Final = _LENGTH.pack(0)
_FIELD: Final = struct.Struct("!II")


class FrameError(Exception):
    """The other side does not speak Frame Streams as it should."""


class Control(NamedTuple):
    """A control frame: its kind, and the content types in it."""

    kind: int
    content_types: tuple[bytes, ...] = ()


def data(payload: bytes) -> bytes:
    """A payload, which is not empty, as a frame."""
    return _LENGTH.pack(len(payload)) + payload


def encode(control: Control) -> bytes:
    """A control frame with its escape and its length."""
    fields = (_FIELD.pack(_FIELD_CONTENT_TYPE, len(each)) + each for each in control.content_types)
    body = _LENGTH.pack(control.kind) + b"".join(fields)
    return _ESCAPE + _LENGTH.pack(len(body)) + body


def control_length(head: bytes) -> int:
    """The size of the control frame that these eight bytes announce. Raises FrameError."""
    escape, length = _FIELD.unpack(head)
    if escape or not _LENGTH.size <= length <= MAX_CONTROL:
        raise FrameError("expected a control frame")
    return int(length)


def decode(body: bytes) -> Control:
    """A control frame without escape and length; fields that we do not know are skipped. Raises FrameError."""
    try:
        (kind,) = _LENGTH.unpack_from(body)
        content_types = []
        i = _LENGTH.size
        while i < len(body):
            field, length = _FIELD.unpack_from(body, i)
            i += _FIELD.size
            if i + length > len(body):
                raise FrameError("control frame cut short")
            if field == _FIELD_CONTENT_TYPE:
                content_types.append(body[i : i + length])
            i += length
    except struct.error:
        raise FrameError("control frame cut short") from None
    return Control(kind, tuple(content_types))
