"""Every way the wire package can fail; the type says that the bytes, not the program, are at fault."""

from __future__ import annotations


class FormErr(ValueError):
    """A message that does not follow RFC 1035 section 4 or RFC 6891."""


class BadName(ValueError):
    """A text that is no domain name: a label over 63 bytes, a name over 255 bytes, an empty label, a bad escape."""


class Rejected(Exception):
    """A packet that is not a query to be answered; `reply` is what to send back, None for silence."""

    def __init__(self, reply: bytes | None) -> None:
        super().__init__("packet is no acceptable query")
        self.reply = reply
