"""A decoded manifest to its struct, and what to say when a field does not fit."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any, TypeVar

import msgspec

from waypost.manifests.model import WORDS_FOR_PATTERN, ClusterIP
from waypost.manifests.problem import FieldError

T = TypeVar("T")

PLACE = re.compile(r"(?P<text>.*?)(?: - at `\$(?P<path>.*)`)?", re.DOTALL)
MISSING = re.compile(r"Object missing required field `(.+)`")
UNFIT = re.compile(r"Expected `(?P<type>[^`]+)`(?: (?P<limit>(?:>=|<=) .+)|, got `(?P<got>\w+)`)?")
TOO_LONG = re.compile(r"Expected `str` of length <= (\d+)")
UNLIKE = re.compile(r"Expected `str` matching regex (?P<pattern>'.*')", re.DOTALL)
STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")

WORDS_FOR_TYPE = {
    "int": "an integer",
    "str": "a string",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "int | str": "an integer or a name",
}
TYPE_NAMES = {dict: "object", list: "array", str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}


def read(value: dict[str, Any], kind: type[T]) -> T:
    """`value` as the struct `kind`. Raises FieldError for the first field that does not fit."""
    try:
        return msgspec.convert(value, kind, dec_hook=read_address)
    except msgspec.ValidationError as error:
        raise explain(str(error), value) from None


def read_address(kind: type, value: Any) -> Any:
    """dec_hook: an address in canonical text. Raises ValueError."""
    allowed = ("", "None") if kind is ClusterIP else ("",)
    words = "an IP address or None" if kind is ClusterIP else "an IP address"
    if not isinstance(value, str):
        raise ValueError(f"expected {words}, got {shown(value)}")
    if value in allowed:
        return kind(value)
    if (text := canonical_address(value)) is None:
        raise ValueError(f"expected {words}, got {shown(value)}")
    return kind(text)


def canonical_address(text: str) -> str | None:
    """An IPv4 or IPv6 address as the API writes it, or None. A zone such as %eth0 means nothing in a cluster."""
    try:
        return None if "%" in text else str(ip_address(text))
    except ValueError:
        return None


def explain(message: str, value: Any) -> FieldError:
    """msgspec's message in a user's words, with the path in the manifest and what stands there."""
    place = PLACE.fullmatch(message)
    assert place is not None, "the pattern takes any text"
    text, path = place["text"], place["path"] or ""
    if missing := MISSING.fullmatch(text):
        return FieldError(f"{path}.{missing[1]}".lstrip("."), "required")
    unfit = UNFIT.fullmatch(text)
    path, found = look_up(path, value, unfit["got"] if unfit else None)
    if unfit:
        limit = f" {unfit['limit']}" if unfit["limit"] else ""
        return FieldError(
            path, f"expected {WORDS_FOR_TYPE.get(unfit['type'], unfit['type'])}{limit}, got {shown(found)}"
        )
    if too_long := TOO_LONG.fullmatch(text):
        return FieldError(path, f"expected at most {too_long[1]} characters, got {shown(found)}")
    if unlike := UNLIKE.fullmatch(text):
        return FieldError(path, f"expected {words_for_pattern(unlike['pattern'])}, got {shown(found)}")
    return FieldError(path, text)


def words_for_pattern(quoted: str) -> str:
    """What a pattern of `manifests.model`, quoted as repr() does, asks for."""
    for pattern, words in WORDS_FOR_PATTERN.items():
        if repr(pattern) == quoted:
            return words
    *others, last = quoted.partition("(")[2].partition(")")[0].split("|")
    return f"{', '.join(others)} or {last}" if others else last


def look_up(path: str, value: Any, got: str | None) -> tuple[str, Any]:
    """Follow msgspec's path; its `[...]` (some key of a map) becomes the first key whose value has type `got`."""
    steps = []
    for step in STEP.finditer(path):
        key: Any = int(step["index"]) if step["index"] else step["key"]
        if step["any"]:
            key = next((name for name, item in value.items() if TYPE_NAMES.get(type(item)) == got), "...")
        steps.append(f".{key}" if step["key"] else f"[{key}]")
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            value = None
    return "".join(steps).lstrip("."), value


def shown(value: Any) -> str:
    """A value in a message: short text as it is, anything large by its type."""
    if isinstance(value, dict | list):
        return WORDS_FOR_TYPE[TYPE_NAMES[type(value)]]
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 70 else f"{text[:66]}...{text[-1] if isinstance(value, str) else ''}"
