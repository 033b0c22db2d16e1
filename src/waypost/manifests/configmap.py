"""Corefiles inside ConfigMaps, and where in the YAML file each of their lines stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import yaml

from waypost.manifests.yaml_text import LOADER

KEY: Final = "Corefile"
_MAX_NODES: Final = 1_000_000


class ConfigMapError(Exception):
    """A file in which no ConfigMap can be read; `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(line, text)
        self.line = line
        self.text = text


@dataclass(frozen=True, slots=True)
class Embedded:
    """A Corefile and its place: the line and column of its first character, or (`exact` is false) of its key.

    `data` are all keys of the ConfigMap: a pod sees them as files beside the Corefile.
    """

    text: str
    line: int
    column: int
    exact: bool
    data: dict[str, str]

    def place(self, line: int, column: int) -> tuple[int, int]:
        """Line and column in the YAML file of those in the Corefile; of the key if the text was written in escapes."""
        if not self.exact or line < 1:
            return self.line, self.column
        return self.line + line - 1, self.column + column - 1 if column else 0


def corefiles(text: str) -> list[Embedded]:
    """The `data.Corefile` of every ConfigMap in YAML or JSON, Lists included. Raises ConfigMapError."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    try:
        documents = list(yaml.compose_all(text, Loader=LOADER))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigMapError(min(line, len(lines)), error.problem or "not YAML") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise ConfigMapError(1, f"not YAML: {getattr(error, 'reason', error)}") from None
    except RecursionError:
        raise ConfigMapError(1, "nested too deep") from None
    return [found for document in documents for node in _objects(document) for found in _corefile(node, lines)]


def _objects(document: yaml.Node | None) -> Iterator[dict[str, tuple[yaml.Node, yaml.Node]]]:
    """Every ConfigMap of a document, as its keys and values by name."""
    pending = [document]
    for _ in range(_MAX_NODES):
        if not pending:
            return
        fields = _fields(pending.pop())
        kind = fields["kind"][1].value if "kind" in fields else ""
        if kind == "ConfigMap":
            yield fields
        elif "items" in fields and isinstance(fields["items"][1], yaml.SequenceNode):
            pending.extend(reversed(fields["items"][1].value))


def _fields(node: yaml.Node | None) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: (key, value) for key, value in node.value if isinstance(key.value, str)}


def _corefile(fields: dict[str, tuple[yaml.Node, yaml.Node]], lines: list[str]) -> Iterator[Embedded]:
    entries = _fields(fields["data"][1]) if "data" in fields else {}
    key, value = entries.get(KEY, (None, None))
    if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
        return
    data = {name: node.value for name, (_, node) in entries.items() if isinstance(node, yaml.ScalarNode)}
    first = value.start_mark.line + 1  # of the text: the line behind the one with the `|`
    indent = _indent(value, lines[first:])
    if indent is not None:
        yield Embedded(value.value, first + 1, indent + 1, True, data)
    else:
        yield Embedded(value.value, key.start_mark.line + 1, key.start_mark.column + 1, False, data)


def _indent(value: yaml.ScalarNode, lines: list[str]) -> int | None:
    """By how much a block text is indented, if its lines stand in the file as they are."""
    text = value.value.split("\n")
    if value.style != "|" or len(lines) < len(text) - 1:
        return None
    shown = next(((line, written) for line, written in zip(text, lines, strict=False) if line.strip()), None)
    if shown is None:
        return None
    indent = len(shown[1]) - len(shown[0])
    same = all(written[indent:] == line for line, written in zip(text, lines, strict=False) if line)
    return indent if indent > 0 and same else None
