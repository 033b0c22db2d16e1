"""Why a query was answered as it was, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from waypost.dispatch.trace import ANSWERED, CHANGED, PASSED, UNASKED, Note
from waypost.explanation.told import Told

_FINAL = (ANSWERED, UNASKED)
_SHOWN = 3


def sentence(told: Told) -> str:
    """`NXDOMAIN from kubernetes: namespace prod has no Service web`.

    The last plugin that says it answered did so; what it looked up for that follows. The plugins that handed the query
    on just before say why it came there.
    """
    notes = told.notes
    own = [place for place, note in enumerate(notes) if note.step in _FINAL and not note.depth]
    if not own:
        return f"{outcome(told)}: the block {told.block} answers so, and none of its plugins says why"
    decided = own[-1]
    note = notes[decided]
    head = "not known:" if told.unasked else f"{outcome(told)} from"
    parts = [f"{head} {note.plugin}: {note.text}"]
    parts += [f"; {each.plugin}: {each.text}" for each in notes[decided + 1 :] if each.step in _FINAL]
    reasons = _texts(notes[own[-2] + 1 if len(own) > 1 else 0 : decided], PASSED)
    if reasons:
        parts.append(f", because {' and '.join(reasons)}")
    changes = _texts(notes[:decided], CHANGED)
    if changes:
        parts.append(f", after {' and '.join(changes)}")
    return "".join(parts)


def outcome(told: Told) -> str:
    """The answer's data, `NODATA`, the RCODE, or that there is no reply."""
    if told.rcode != "NOERROR":
        return told.rcode
    data = told.data
    if not data:
        return "a CNAME alone" if told.answer else "NODATA"
    more = f" and {len(data) - _SHOWN} more" if len(data) > _SHOWN else ""
    return f"{', '.join(data[:_SHOWN])}{more}"


def _texts(notes: Sequence[Note], step: str) -> list[str]:
    """Each text once, behind its plugin."""
    return list(dict.fromkeys(f"{note.plugin} {note.text}" for note in notes if note.step == step and not note.depth))
