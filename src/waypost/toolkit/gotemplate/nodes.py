"""What the parser makes of a template. `position` and `source` tell errors where and what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Dot:
    """The value that the template looks at: `.`"""

    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Nil:
    """The untyped `nil`."""

    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    value: str | int | float | bool
    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Field:
    """`.A.B`: fields, keys or methods of the dot."""

    names: tuple[str, ...]
    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Variable:
    """`$x.A.B`; the name of `$` is `$`."""

    name: str
    names: tuple[str, ...]
    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Chain:
    """Fields of something in parentheses or of a function's result."""

    of: Operand
    names: tuple[str, ...]
    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Identifier:
    """A function's name."""

    name: str
    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Command:
    """What to call, or one value, and the arguments."""

    operands: tuple[Operand, ...]
    position: int
    source: str


@dataclass(frozen=True, slots=True)
class Pipe:
    """Commands, each getting the result of the one before as its last argument; then the variables that are set."""

    variables: tuple[str, ...]
    assigns: bool
    commands: tuple[Command, ...]
    position: int
    source: str


Operand: TypeAlias = Dot | Nil | Constant | Field | Variable | Chain | Identifier | Pipe


@dataclass(frozen=True, slots=True)
class Text:
    """Text as it stands."""

    text: str


@dataclass(frozen=True, slots=True)
class Action:
    """A pipeline whose value is printed unless it sets a variable."""

    pipe: Pipe


@dataclass(frozen=True, slots=True)
class Branch:
    """`if`, `with` or `range`, by its keyword."""

    keyword: str
    pipe: Pipe
    body: Nodes
    otherwise: Nodes


@dataclass(frozen=True, slots=True)
class Jump:
    """`break` or `continue`."""

    keyword: str


Node: TypeAlias = Text | Action | Branch | Jump
Nodes: TypeAlias = tuple[Node, ...]
