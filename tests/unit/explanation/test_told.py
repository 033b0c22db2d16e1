"""An explained query read from JSON, of this process or another."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import dns.message
import dns.rrset
import pytest

from waypost.dispatch.explain import Explained
from waypost.dispatch.trace import ANSWERED, UNASKED, Note
from waypost.explanation.told import NOT_ASKED, SILENCE, BadExplanation, Told


def explained(*notes: Note, answer: str = "", rcode: int = 0) -> Any:
    """JSON of a query for `a.org. A`."""
    message = dns.message.make_response(dns.message.make_query("a.org.", "A"))
    message.set_rcode(rcode)
    if answer:
        message.answer.append(dns.rrset.from_text(*answer.split(maxsplit=4)))
    return Explained("dns://:53", ".:53", notes, message.to_wire(), 0.0012).as_json()


def test_round_trip() -> None:
    note = Note("kubernetes", "found", ANSWERED, ("Service a/b",), "serial 7", 1)
    told = Told.read("a.org.", "A", "udp", explained(note, answer="a.org. 5 IN A 10.0.0.1"))
    assert told.notes == (note,)
    assert (told.rcode, told.data, told.flags) == ("NOERROR", ["10.0.0.1"], ["rd"])
    value = told.as_json()
    assert value["answer"] == ["a.org. 5 IN A 10.0.0.1"]
    assert (value["rcode"], value["milliseconds"], value["server"]) == ("NOERROR", 1.2, "dns://:53")


def test_silence_and_what_was_not_asked() -> None:
    told = Told.read("a.org.", "A", "udp", {**explained(), "message": None})
    assert (told.rcode, told.as_json()["rcode"], told.data, told.answer, told.flags) == (SILENCE, None, [], [], [])
    told = Told.read("a.org.", "A", "udp", explained(Note("forward", "would ask", UNASKED), rcode=2))
    assert (told.unasked, told.rcode, told.as_json()["rcode"]) == (True, NOT_ASKED, None)


@pytest.mark.parametrize(
    "changes",
    [
        {"message": "!"},
        {"message": b64encode(b"short").decode()},
        {"message": 5},
        {"notes": None},
        {"notes": [{}]},
        {"notes": [{"plugin": 1, "text": "", "step": "", "objects": [], "version": "", "depth": 0}]},
        {"notes": [{"plugin": "", "text": "", "step": "", "objects": [1], "version": "", "depth": 0}]},
        {"notes": [{"plugin": "", "text": "", "step": "", "objects": [], "version": "", "depth": ""}]},
        {"milliseconds": "much"},
    ],
)
def test_anything_else_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadExplanation, match="not an explanation"):
        Told.read("a.org.", "A", "udp", {**explained(), **changes})
    with pytest.raises(BadExplanation):
        Told.read("a.org.", "A", "udp", [])
