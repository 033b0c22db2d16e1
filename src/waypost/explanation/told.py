"""One explained query: what was asked, the notes on its way, and the message that came out."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rrset

from waypost.dispatch.trace import UNASKED, Note

SILENCE = "no reply"
NOT_ASKED = "not asked"
"""These stand in the place of an RCODE."""


class BadExplanation(Exception):
    """JSON that is no explanation; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Told:
    """A query and how it was answered. `name` has its final dot, `block` is empty if no server block took the query.

    `message` is None for silence.
    """

    name: str
    type: str
    transport: str
    server: str
    block: str
    notes: tuple[Note, ...]
    message: dns.message.Message | None
    milliseconds: float

    @classmethod
    def read(cls, name: str, qtype: str, transport: str, value: Any) -> Self:
        """What `dispatch.explain` gives as JSON, from this process or another. Raises BadExplanation."""
        try:
            packed = value["message"]
            message = None if packed is None else dns.message.from_wire(b64decode(packed))
            notes = tuple(_note(each) for each in value["notes"])
            return cls(
                name, qtype, transport, str(value["server"]), str(value["block"]), notes, message,
                float(value["milliseconds"]),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError, dns.exception.DNSException) as exc:
            raise BadExplanation(f"not an explanation: {type(exc).__name__}: {exc}") from exc

    @property
    def rcode(self) -> str:
        """NOERROR, NXDOMAIN and so on, SILENCE or NOT_ASKED."""
        if self.unasked:
            return NOT_ASKED
        return SILENCE if self.message is None else dns.rcode.to_text(self.message.rcode())

    @property
    def unasked(self) -> bool:
        """True if the answer is not known, because somebody else was not to be asked for it."""
        return any(note.step == UNASKED for note in self.notes)

    @property
    def flags(self) -> list[str]:
        """Header flags in lower case, QR left out."""
        if self.message is None:
            return []
        return [flag.lower() for flag in dns.flags.to_text(self.message.flags).split() if flag != "QR"]

    @property
    def answer(self) -> list[str]:
        """The records of the answer section, a line each."""
        return [] if self.message is None else _lines(self.message.answer)

    @property
    def data(self) -> list[str]:
        """The data of the answer's records that are of the type asked for."""
        if self.message is None:
            return []
        wanted = (rrset for rrset in self.message.answer if dns.rdatatype.to_text(rrset.rdtype) == self.type)
        return [rdata.to_text() for rrset in wanted for rdata in rrset]

    def as_json(self) -> dict[str, object]:
        """The same with texts in place of the message."""
        return {
            "name": self.name,
            "type": self.type,
            "transport": self.transport,
            "server": self.server,
            "block": self.block,
            "notes": [note._asdict() for note in self.notes],
            "rcode": None if self.message is None or self.unasked else self.rcode,
            "flags": self.flags,
            "answer": self.answer,
            "authority": [] if self.message is None else _lines(self.message.authority),
            "additional": [] if self.message is None else _lines(self.message.additional),
            "milliseconds": self.milliseconds,
        }


def _lines(section: Iterable[dns.rrset.RRset]) -> list[str]:
    return [line for rrset in section for line in rrset.to_text().splitlines()]


def _note(value: Mapping[str, Any]) -> Note:
    texts = [value[field] for field in ("plugin", "text", "step", "version")]
    objects, depth = value["objects"], value["depth"]
    if not all(isinstance(text, str) for text in (*texts, *objects)) or not isinstance(depth, int):
        raise TypeError(f"a note cannot be read: {value!r}")
    plugin, text, step, version = texts
    return Note(plugin, text, step, tuple(objects), version, depth)
