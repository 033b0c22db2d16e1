"""Objects to the text of Helm templates: plain values as YAML, and in their place where a value of the chart belongs.

A string that holds `{{` is written as it stands. Whatever else depends on a chart's values is a node of this module
within the object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from waypost.addon.printing import to_yaml
from waypost.addon.settings import Json

_STEP = "  "


@dataclass(frozen=True, slots=True)
class Block:
    """An object or list from the chart's values; its field is left out while it is empty."""

    expression: str


@dataclass(frozen=True, slots=True)
class Guarded:
    """A value that is there only under a condition."""

    condition: str
    value: Any


@dataclass(frozen=True, slots=True)
class Insert:
    """Fields or items from an expression, among others that are always there."""

    expression: str


@dataclass(frozen=True, slots=True)
class Text:
    """A text of several lines from an expression."""

    expression: str


Node: TypeAlias = Block | Guarded | Insert | Text


def render(obj: Json) -> str:
    """The template of one object."""
    return "\n".join(_lines(obj, "")) + "\n"


def put(obj: Json, path: str, value: Any) -> None:
    """Set what stands at `spec.containers.0.image`; missing objects on the way are made."""
    *steps, last = path.split(".")
    place: Any = obj
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value


def look_up(obj: Json, path: str) -> Any:
    """What stands there."""
    place: Any = obj
    for step in path.split("."):
        place = place[int(step)] if isinstance(place, list) else place[step]
    return place


def _lines(value: Any, indent: str) -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else ((None, each) for each in value):
        yield from _entry(key, item, indent)


def _entry(key: str | None, item: Any, indent: str) -> Iterator[str]:
    """A field of an object (with its key), or an item of a list."""
    head = f"{indent}-" if key is None else f"{indent}{_scalar(key)}:"
    if isinstance(item, Guarded):
        yield f"{indent}{{{{- if {item.condition} }}}}"
        yield from _entry(key, item.value, indent)
        yield f"{indent}{{{{- end }}}}"
    elif isinstance(item, Insert):
        yield f"{indent}{{{{- with {item.expression} }}}}"
        yield f"{indent}{{{{- toYaml . | nindent {len(indent)} }}}}"
        yield f"{indent}{{{{- end }}}}"
    elif isinstance(item, Block):
        yield f"{indent}{{{{- with {item.expression} }}}}"
        yield head
        yield f"{indent}{_STEP}{{{{- toYaml . | nindent {len(indent) + len(_STEP)} }}}}"
        yield f"{indent}{{{{- end }}}}"
    elif isinstance(item, Text):
        yield f"{head} |"
        yield f"{indent}{_STEP}{{{{- {item.expression} | nindent {len(indent) + len(_STEP)} }}}}"
    elif isinstance(item, (dict, list)) and item:
        yield from _nested(key, item, indent, head)
    elif isinstance(item, str) and "\n" in item:
        yield f"{head} |"
        yield from (f"{indent}{_STEP}{line}".rstrip() for line in item.splitlines())
    else:
        yield f"{head} {_scalar(item)}"


def _nested(key: str | None, item: Json | list[Any], indent: str, head: str) -> Iterator[str]:
    if key is not None:
        yield head
        yield from _lines(item, indent + (_STEP if isinstance(item, dict) else ""))
        return
    first, *rest = _lines(item, indent + _STEP)
    if "{{-" in first:  # its line is swallowed, and the dash would go with it
        raise ValueError(f"an item of a list begins with what may be absent: {first.strip()}")
    yield f"{head} {first.strip()}"
    yield from rest


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        if "{{" in value:
            return value
        return to_yaml([value])[2:].rstrip("\n")
    return json.dumps(value)
