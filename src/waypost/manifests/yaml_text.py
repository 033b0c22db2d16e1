"""One YAML document as the value that JSON would give: dict, list, str, int, float, bool, None.

Built from the parser's events instead of PyYAML's constructor, because a manifest is JSON in another dress: keys are
text, a time stamp or `12:30` stays text, a field set to null is an absent field, a key given twice is a mistake.
Nothing recurses and aliases are counted, so neither deep nesting nor an alias bomb costs more than the text is long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml

Value: TypeAlias = Any
"""A JSON-like value. Its shape is checked by the structs of `manifests.model`, not by this type."""

MAX_DEPTH = 200
MAX_BORROWED = 100_000  # nodes that aliases may stand for, in one document

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
STANDARD_TAG = "tag:yaml.org,2002:"
TEXT_TAGS = frozenset({"!", STANDARD_TAG + "str", STANDARD_TAG + "binary"})

CONSTANTS: dict[str, bool | None] = {
    spelling: value
    for words, value in (("~ null", None), ("yes true on", True), ("no false off", False))
    for word in words.split()
    for spelling in (word, word.capitalize(), word.upper())
} | {"": None}
NUMBER_START = frozenset("+-.0123456789")
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,63}|0x[0-9a-fA-F_]{1,64}|0b[01_]{1,64}|0o?[0-7_]{1,64})")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]{1,64}|[0-9][0-9_]{0,63}(?:\.[0-9_]{0,64})?)(?:[eE][-+]?[0-9]{1,9})?")


class YamlError(Exception):
    """Text that is not one YAML document; `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(f"line {line}: {text}")
        self.line = line
        self.text = text


def load(text: str) -> Value:
    """The value of `text`, which holds at most one document (none gives None). Raises YamlError."""
    builder = Builder()
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        last = max(len(text.rstrip().splitlines()), 1)  # an error at the end is reported behind it
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlError(min(line, last), error.problem or "not YAML") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(line, error.reason) from None
    except UnicodeError:
        raise YamlError(1, "not Unicode text") from None
    return builder.value


def plain_scalar(text: str) -> str | int | float | bool | None:
    """What an unquoted scalar means: the words of YAML 1.1, as kubectl reads them, but no dates and no base 60."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] not in NUMBER_START:
        return text
    if INTEGER.fullmatch(text):
        return integer(text.replace("_", ""), text)
    if FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    return text


def integer(digits: str, text: str) -> int | str:
    """The number of `digits` (sign, then 0x, 0b, 0o or a bare 0 for octal), or `text` when nothing is left of it."""
    sign, body = (digits[0], digits[1:]) if digits[0] in "+-" else ("", digits)
    if len(body) > 1 and body[0] == "0" and body[1].isdigit():
        body = "0o" + body[1:]
    try:
        return int(sign + body, 0)
    except ValueError:
        return text


@dataclass(slots=True)
class Sequence:
    """A list being read; `weight` is its number of nodes with aliases written out."""

    anchor: str | None
    weight: int = 1
    items: list[Value] = field(default_factory=list)

    def add(self, value: Value, line: int) -> None:
        self.items.append(value)

    def value(self) -> Value:
        return self.items


@dataclass(slots=True)
class Mapping:
    """An object being read. What `<<` brings in never replaces a key of its own."""

    anchor: str | None
    weight: int = 1
    key: str | None = None
    merging: bool = False
    own: dict[str, Value] = field(default_factory=dict)
    merged: dict[str, Value] = field(default_factory=dict)

    @property
    def wants_key(self) -> bool:
        return self.key is None and not self.merging

    def take_key(self, key: str, merge: bool, line: int) -> None:
        if merge:
            self.merging = True
            return
        if key in self.own:
            raise YamlError(line, f"key {key!r} is given twice")
        self.key = key

    def add(self, value: Value, line: int) -> None:
        if self.merging:
            self.merging = False
            for source in value if isinstance(value, list) else [value]:
                if not isinstance(source, dict):
                    raise YamlError(line, "<< takes an object or a list of objects")
                self.merged = source | self.merged
            return
        assert self.key is not None, "a value follows its key"
        self.own[self.key] = value
        self.key = None

    def value(self) -> Value:
        return {key: value for key, value in (self.merged | self.own).items() if value is not None}


class Builder:
    """Parser events in, one value out."""

    __slots__ = ("anchors", "borrowed", "stack", "value")

    def __init__(self) -> None:
        self.value: Value = None
        self.stack: list[Sequence | Mapping] = []
        self.anchors: dict[str, tuple[Value, int]] = {}
        self.borrowed = 0

    def take(self, event: yaml.Event) -> None:
        """Use the next event; raises YamlError."""
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.ScalarEvent):
            self.scalar(event, line)
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self.open(event, line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            frame = self.stack.pop()
            self.add(frame.value(), frame.weight, frame.anchor, line)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event.anchor, line)

    def scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        top = self.stack[-1] if self.stack else None
        if isinstance(top, Mapping) and top.wants_key:
            top.take_key(event.value, event.value == "<<" and event.implicit[0], line)
            return
        if event.implicit[1] or event.tag in TEXT_TAGS:
            value: Value = event.value
        elif event.tag is None or event.tag.startswith(STANDARD_TAG):
            value = plain_scalar(event.value)
        else:
            raise YamlError(line, f"tag {event.tag!r} has no meaning in a manifest")
        self.add(value, 1, event.anchor, line)

    def open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent, line: int) -> None:
        if self.stack and isinstance(self.stack[-1], Mapping) and self.stack[-1].wants_key:
            raise YamlError(line, "a key must be text")
        if event.tag is not None and not event.tag.startswith(STANDARD_TAG):
            raise YamlError(line, f"tag {event.tag!r} has no meaning in a manifest")
        if len(self.stack) >= MAX_DEPTH:
            raise YamlError(line, f"nested more than {MAX_DEPTH} levels deep")
        self.stack.append((Mapping if isinstance(event, yaml.MappingStartEvent) else Sequence)(event.anchor))

    def alias(self, anchor: str | None, line: int) -> None:
        # An anchor is known once its node is complete, so an object cannot hold itself.
        if anchor is None or anchor not in self.anchors:
            raise YamlError(line, f"no anchor {anchor!r} before its alias")
        if self.stack and isinstance(self.stack[-1], Mapping) and self.stack[-1].wants_key:
            raise YamlError(line, "a key must be text")
        value, weight = self.anchors[anchor]
        self.borrowed += weight
        if self.borrowed > MAX_BORROWED:
            raise YamlError(line, f"aliases stand for more than {MAX_BORROWED} values")
        self.add(value, weight, None, line)

    def add(self, value: Value, weight: int, anchor: str | None, line: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, weight)
        if not self.stack:
            self.value = value
            return
        self.stack[-1].weight += weight
        self.stack[-1].add(value, line)
