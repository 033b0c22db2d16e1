"""Domain names in wire form: `b"\\x03www\\x07example\\x03org\\x00"`; the case as given unless said otherwise.

Folding a whole wire name with `bytes.lower` is sound: label lengths are at most 63 and no upper-case letter is.
"""

from __future__ import annotations

from collections.abc import Iterator

from waypost.wire.errors import BadName

ROOT = b"\x00"
MAX_NAME = 255
MAX_LABEL = 63

# Presentation form escapes these (RFC 1035 section 5.1, and what zone file readers trip over).
_ESCAPED = frozenset(b".\"\\'();@ ")
_PLAIN = bytes(byte for byte in range(0x21, 0x7F) if byte not in _ESCAPED)


def from_text(text: str) -> bytes:
    """Presentation form to wire form; a missing final dot is added.

    Raises BadName.
    """
    if text in (".", ""):
        return ROOT
    if "\\" not in text and text.isascii():
        labels = (text[:-1] if text.endswith(".") else text).encode("ascii").split(b".")
    else:
        labels = _split_escaped(text.encode("utf-8"))
    return from_labels(labels)


def from_labels(labels: list[bytes]) -> bytes:
    """Join raw labels, the root's empty one left out. Raises BadName."""
    out = bytearray()
    for label in labels:
        if not label:
            raise BadName("empty label")
        if len(label) > MAX_LABEL:
            raise BadName(f"label longer than {MAX_LABEL} bytes")
        out.append(len(label))
        out += label
    out.append(0)
    if len(out) > MAX_NAME:
        raise BadName(f"name longer than {MAX_NAME} bytes")
    return bytes(out)


def to_text(name: bytes) -> str:
    """Wire form to presentation form with a final dot: `a\\.b.example.org.`, `\\255.org.`."""
    if name == ROOT:
        return "."
    return "".join(_label_text(label) + "." for label in labels(name))


def labels(name: bytes) -> list[bytes]:
    """The labels from left to right, without the root's."""
    out = []
    i = 0
    while length := name[i]:
        out.append(name[i + 1 : i + 1 + length])
        i += length + 1
    return out


def label_starts(name: bytes) -> list[int]:
    """The offsets at which labels start, the root's included."""
    starts = []
    i = 0
    while length := name[i]:
        starts.append(i)
        i += length + 1
    starts.append(i)
    return starts


def count_labels(name: bytes) -> int:
    """How many labels stand before the root."""
    i = n = 0
    while length := name[i]:
        i += length + 1
        n += 1
    return n


def suffixes(name: bytes) -> Iterator[bytes]:
    """The name, its parent, and so on to the root."""
    i = 0
    while length := name[i]:
        yield name[i:]
        i += length + 1
    yield ROOT


def parent(name: bytes) -> bytes:
    """The name without its first label; the root's parent is the root."""
    return name[name[0] + 1 :] or ROOT


def is_within(name: bytes, zone: bytes) -> bool:
    """True if name equals zone or lies below it; both in one case."""
    if not name.endswith(zone):
        return False
    start = len(name) - len(zone)
    i = 0
    while i < start:  # endswith alone is fooled by a label that contains a length byte
        i += name[i] + 1
    return i == start


def relative(name: bytes, zone: bytes) -> bytes:
    """The labels of name left of zone, in wire form without an end: `b"\\x03www"`; name must be within zone."""
    return name[: len(name) - len(zone)]


def join(prefix: bytes, zone: bytes) -> bytes:
    """A relative prefix (as `relative` gives it) put before a zone. Raises BadName if too long."""
    if len(prefix) + len(zone) > MAX_NAME:
        raise BadName(f"name longer than {MAX_NAME} bytes")
    return prefix + zone


def _split_escaped(raw: bytes) -> list[bytes]:
    labels_out: list[bytes] = []
    label = bytearray()
    i = 0
    while i < len(raw):
        byte = raw[i]
        if byte == 0x5C:
            digits = raw[i + 1 : i + 4]
            if len(digits) == 3 and digits.isdigit():
                if int(digits) > 255:
                    raise BadName(f"escape \\{digits.decode()} is no byte")
                label.append(int(digits))
                i += 4
                continue
            if i + 1 >= len(raw):
                raise BadName("escape at the end of the name")
            label.append(raw[i + 1])
            i += 2
            continue
        if byte == 0x2E:
            labels_out.append(bytes(label))
            label.clear()
        else:
            label.append(byte)
        i += 1
    if label:
        labels_out.append(bytes(label))
    return labels_out


def _label_text(label: bytes) -> str:
    if not label.translate(None, _PLAIN):
        return label.decode("ascii")
    out = []
    for byte in label:
        if byte in _ESCAPED:
            out.append("\\" + chr(byte))
        elif 0x20 < byte < 0x7F:
            out.append(chr(byte))
        else:
            out.append(f"\\{byte:03d}")
    return "".join(out)
