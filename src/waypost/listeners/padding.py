"""Answers of one length over encrypted transports, so that it does not tell what was asked (RFC 7830, RFC 8467)."""

from __future__ import annotations

import struct
from typing import Final

from waypost.dispatch.ahead import Messages
from waypost.listeners.connection import framed
from waypost.wire import consts

_BLOCK: Final = 468
"""Bytes that an answer's length is a multiple of (RFC 8467 section 4.1)."""
_LARGEST: Final = 65_535
_HEADER: Final = struct.Struct("!6H")
_FIXED: Final = struct.Struct("!HHIH")
_OPTION: Final = struct.Struct("!HH")


def padded(message: bytes) -> bytes:
    """The same message with its padding, which it has if the client pads, as long as it should be."""
    opt = _last_opt(message)
    at = opt and _padding_of(message, opt)
    if not opt or not at:
        return message
    length = int.from_bytes(message[at - 2 : at], "big")
    rest = len(message) - length
    wanted = min(-(-rest // _BLOCK) * _BLOCK, _LARGEST) - rest
    size = len(message) - opt - length + wanted
    return b"".join(
        (
            message[: opt - 2],
            size.to_bytes(2, "big"),
            message[opt : at - 2],
            wanted.to_bytes(2, "big"),
            bytes(wanted),
            message[at + length :],
        )
    )


def framed_and_padded(answer: Messages) -> bytes:
    """Messages with their two-byte lengths, padded."""
    if isinstance(answer, bytes):
        return framed(padded(answer))
    return framed(tuple(map(padded, answer or ())))


def _last_opt(message: bytes) -> int:
    """Where the options of an OPT record begin that ends the message; 0 if none does."""
    _, _, questions, *counts = _HEADER.unpack_from(message)
    if not counts[2]:
        return 0
    at = _HEADER.size
    for _ in range(questions):
        at = _name_end(message, at) + 4
    for _ in range(sum(counts) - 1):
        at = _name_end(message, at)
        at += _FIXED.size + _FIXED.unpack_from(message, at)[3]
    if message[at] or _FIXED.unpack_from(message, at + 1)[0] != consts.TYPE_OPT:
        return 0
    return at + 1 + _FIXED.size


def _padding_of(message: bytes, at: int) -> int:
    """Where the data of the padding option begins; 0 if there is none."""
    while at + _OPTION.size <= len(message):
        code, length = _OPTION.unpack_from(message, at)
        at += _OPTION.size
        if code == consts.EDNS_PADDING:
            return at
        at += length
    return 0


def _name_end(message: bytes, at: int) -> int:
    while 0 < (length := message[at]) < 0xC0:
        at += length + 1
    return at + (2 if length else 1)
