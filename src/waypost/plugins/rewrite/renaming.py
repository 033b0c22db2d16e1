"""How names are matched and changed: whole, by prefix, suffix or substring, or by regular expression.

CoreDNS works on the text of a name. What falls on label borders is done on the wire form here, with the same outcome;
records' names are matched without regard to letter case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from waypost.corefile.zones import normalize_name
from waypost.toolkit.regexp import Regexp
from waypost.wire import names
from waypost.wire.errors import BadName

NameChange = Callable[[bytes], bytes | None]
"""A name in wire form to the one that takes its place, None if it does not fit. Raises BadName."""

NameTest = Callable[[bytes], bool]
"""Whether a name in wire form and lower case fits."""

EXACT: Final = "exact"
REGEX: Final = "regex"

_GROUP: Final = re.compile(r"\{([0-9]+)\}")


def by_kind(kind: str, old: str, new: str) -> NameChange:
    """The change for one of KINDS; `old` and `new` as CoreDNS compares them, in lower case."""
    return KINDS[kind](old, new)


def fitting(kind: str, text: str) -> NameTest:
    """Whether a name fits `text`, by one of KINDS."""
    change = by_kind(kind, text, text)
    return lambda name: change(name) is not None


def found_by(pattern: Regexp) -> NameTest:
    """Whether the pattern is found in a name's text."""
    return lambda name: pattern.search(names.to_text(name)) is not None


def by_pattern(pattern: Regexp, template: str) -> NameChange:
    """The template with `{0}`, `{1}` ... filled in takes the place of every name in which the pattern is found."""
    parts = _GROUP.split(normalize_name(template))
    texts = parts[0::2]
    groups = [int(number) for number in parts[1::2]]
    known = pattern.groups

    def change(name: bytes) -> bytes | None:
        found = pattern.search(names.to_text(name))
        if found is None:
            return None
        out = texts[0]
        for group, text in zip(groups, texts[1:], strict=True):
            out += ((found[group] or "") if group <= known else f"{{{group}}}") + text
        return names.from_text(out)

    return change


def back_to(changed: bytes, original: bytes) -> NameChange:
    """`original` for `changed`, which is in lower case, and also as the end of names below it."""
    if changed == names.ROOT:
        return lambda name: original if name == changed else None

    def change(name: bytes) -> bytes | None:
        lower = name.lower()
        if lower == changed:
            return original
        return names.join(names.relative(name, changed), original) if names.is_within(lower, changed) else None

    return change


def _exact(old: str, new: str) -> NameChange:
    before, after = _wire(old), _wire(new)
    if before is None or after is None:
        return _on_text(lambda text, lower: new if lower == old else None)
    return lambda name: after if name.lower() == before else None


def _prefix(old: str, new: str) -> NameChange:
    before, after = _labels(old), _labels(new)
    if before is None or after is None:
        return _on_text(lambda text, lower: new + text[len(old) :] if lower.startswith(old) else None)
    size = len(before)
    return lambda name: names.join(after, name[size:]) if name.lower().startswith(before) else None


def _suffix(old: str, new: str) -> NameChange:
    before, after = _zone(old), _zone(new)
    if before is None or after is None:
        return _on_text(lambda text, lower: text[: len(text) - len(old)] + new if lower.endswith(old) else None)

    def change(name: bytes) -> bytes | None:
        if len(name) <= len(before) or not names.is_within(name.lower(), before):
            return None
        return names.join(names.relative(name, before), after)

    return change


def _substring(old: str, new: str) -> NameChange:
    return _on_text(lambda text, lower: lower.replace(old, new) if old in lower else None)


def _on_text(change: Callable[[str, str], str | None]) -> NameChange:
    """A change of the text of a name, which is given as it is and in lower case."""

    def changed(name: bytes) -> bytes | None:
        text = names.to_text(name)
        out = change(text, text.lower())
        return None if out is None else names.from_text(out)

    return changed


def _wire(text: str) -> bytes | None:
    try:
        return names.from_text(text) if text else None
    except BadName:
        return None


def _labels(text: str) -> bytes | None:
    """The labels of `a.b.`, which ends on a label border."""
    name = _wire(text) if text.endswith(".") and text != "." else None
    return None if name is None else name[:-1]


def _zone(text: str) -> bytes | None:
    """The zone of `.a.b.`, which begins on a label border; the root for `.`."""
    if not text.startswith(".") or not text.endswith("."):
        return None
    return names.ROOT if text == "." else _wire(text[1:])


KINDS: Final[dict[str, Callable[[str, str], NameChange]]] = {
    EXACT: _exact,
    "prefix": _prefix,
    "suffix": _suffix,
    "substring": _substring,
}
"""Ways to match a name apart from REGEX."""
