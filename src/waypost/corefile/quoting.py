"""Texts in double quotes as Go prints them; users and scripts match CoreDNS's messages by them."""

from __future__ import annotations

from typing import Final

ESCAPES: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}


def quote(text: str) -> str:
    """`text` as Go's `%q` prints it: printable characters as they are, everything else escaped."""
    return f'"{"".join(map(escaped, text))}"'


def escaped(char: str) -> str:
    code = ord(char)
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable():
        return char
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_bytes(text: str) -> str:
    """`text` as Go's time package quotes it: every byte outside printable ASCII as `\\xNN`."""
    octets = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(escaped_octet(octet) for octet in octets) + '"'


def escaped_octet(octet: int) -> str:
    if octet < 0x20 or octet >= 0x80:
        return f"\\x{octet:02x}"
    return "\\" + chr(octet) if octet in b'"\\' else chr(octet)
