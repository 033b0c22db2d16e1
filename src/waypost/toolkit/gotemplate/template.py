"""A compiled template: data in, text out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from waypost.corefile.quoting import quote
from waypost.toolkit.gotemplate.errors import TemplateError
from waypost.toolkit.gotemplate.functions import BUILTINS, LAZY
from waypost.toolkit.gotemplate.nodes import (
    Action,
    Branch,
    Chain,
    Command,
    Constant,
    Dot,
    Field,
    Identifier,
    Jump,
    Nil,
    Nodes,
    Operand,
    Pipe,
    Text,
    Variable,
)
from waypost.toolkit.gotemplate.parser import parse
from waypost.toolkit.gotemplate.values import Function, Struct, is_true, text_of, type_name

_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Template:
    """Made by `compile_template`; `text` is what it was made of."""

    name: str
    text: str
    nodes: Nodes = field(repr=False)
    functions: Mapping[str, Function] = field(repr=False, compare=False)

    def render(self, data: object) -> str:
        """The text for one set of data. Raises TemplateError."""
        execution = _Execution(self, data)
        execution.nodes(data, self.nodes)
        return "".join(execution.out)


def compile_template(name: str, text: str, functions: Mapping[str, Function] | None = None) -> Template:
    """Compile; `functions` are added to Go's own, and `name` stands in error texts. Raises TemplateError."""
    known = {**BUILTINS, **(functions or {})}
    return Template(name, text, parse(name, text, (*known, *LAZY)), known)


class _Jump(Exception):
    """`break` or `continue` on its way to its loop."""

    def __init__(self, keyword: str) -> None:
        super().__init__(keyword)
        self.keyword = keyword


class _Execution:
    """One rendering: the output so far and the variables in sight, innermost last."""

    __slots__ = ("out", "template", "variables")

    def __init__(self, template: Template, data: object) -> None:
        self.template = template
        self.out: list[str] = []
        self.variables: list[tuple[str, object]] = [("$", data)]

    def nodes(self, dot: object, nodes: Nodes) -> None:
        for node in nodes:
            if isinstance(node, Text):
                self.out.append(node.text)
            elif isinstance(node, Action):
                value = self.pipe(dot, node.pipe)
                if not node.pipe.variables:
                    self.out.append(text_of(value))
            elif isinstance(node, Jump):
                raise _Jump(node.keyword)
            else:
                self.branch(dot, node)

    def branch(self, dot: object, branch: Branch) -> None:
        known = len(self.variables)
        value = self.pipe(dot, branch.pipe, declare=branch.keyword != "range")
        if branch.keyword == "range":
            self.loop(dot, branch, value)
        elif is_true(value):
            self.nodes(value if branch.keyword == "with" else dot, branch.body)
        else:
            self.nodes(dot, branch.otherwise)
        del self.variables[known:]

    def loop(self, dot: object, branch: Branch, value: object) -> None:
        items = self.items(branch.pipe, value)
        if not items:
            self.nodes(dot, branch.otherwise)
            return
        known = len(self.variables)
        for key, item in items:
            values = (key, item) if len(branch.pipe.variables) == 2 else (item,)
            for name, entry in zip(branch.pipe.variables, values, strict=False):
                self.set(name, entry, declare=not branch.pipe.assigns)
            try:
                self.nodes(item, branch.body)
            except _Jump as jump:
                if jump.keyword == "break":
                    break
            finally:
                del self.variables[known:]

    def items(self, pipe: Pipe, value: object) -> list[tuple[object, object]]:
        if value is None:
            return []
        if isinstance(value, list):
            return list(enumerate(value))
        if isinstance(value, dict):
            return sorted(value.items())
        if isinstance(value, int) and not isinstance(value, bool):
            if value > 65536:
                raise self.error(pipe, f"range over {value} is too long")
            return [(number, number) for number in range(value)]
        raise self.error(pipe, f"range can't iterate over {text_of(value)}")

    def pipe(self, dot: object, pipe: Pipe, *, declare: bool = True) -> object:
        """The value of the last command; variables are set unless the caller does that."""
        value: object = None
        for stage, command in enumerate(pipe.commands):
            value = self.command(dot, command, (value,) if stage else ())
        if declare:
            for name in pipe.variables:
                self.set(name, value, declare=not pipe.assigns)
        return value

    def command(self, dot: object, command: Command, piped: tuple[object, ...]) -> object:
        first, arguments = command.operands[0], command.operands[1:]
        if isinstance(first, Identifier):
            return self.call(dot, first, command, arguments, piped)
        if isinstance(first, Field):
            return self.fields(dot, first, first.names, (*self.evaluated(dot, arguments), *piped))
        if isinstance(first, Variable) and first.names:
            start = self.variable(first)
            return self.fields(start, first, first.names, (*self.evaluated(dot, arguments), *piped))
        if isinstance(first, Chain):
            start = self.value(dot, first.of)
            return self.fields(start, first, first.names, (*self.evaluated(dot, arguments), *piped))
        if arguments or piped:
            raise self.error(command, f"can't give argument to non-function {first.source}")
        if isinstance(first, Nil):
            raise self.error(command, "nil is not a command")
        return self.value(dot, first)

    def value(self, dot: object, operand: Operand) -> object:
        """What an operand stands for where it takes no arguments."""
        if isinstance(operand, Constant):
            return operand.value
        if isinstance(operand, Dot):
            return dot
        if isinstance(operand, Field):
            return self.fields(dot, operand, operand.names, ())
        if isinstance(operand, Variable):
            return self.fields(self.variable(operand), operand, operand.names, ())
        if isinstance(operand, Pipe):
            return self.pipe(dot, operand)
        if isinstance(operand, Chain):
            return self.fields(self.value(dot, operand.of), operand, operand.names, ())
        if isinstance(operand, Identifier):
            return self.call(dot, operand, operand, (), ())
        return None

    def evaluated(self, dot: object, operands: tuple[Operand, ...]) -> list[object]:
        return [self.value(dot, operand) for operand in operands]

    def call(
        self,
        dot: object,
        function: Identifier,
        at: Command | Identifier,
        operands: tuple[Operand, ...],
        piped: tuple[object, ...],
    ) -> object:
        if function.name in LAZY:
            return self.lazily(dot, function, at, operands, piped)
        arguments = (*self.evaluated(dot, operands), *piped)
        return self.invoke(function.name, self.template.functions[function.name], at, arguments)

    def lazily(
        self,
        dot: object,
        function: Identifier,
        at: Command | Identifier,
        operands: tuple[Operand, ...],
        piped: tuple[object, ...],
    ) -> object:
        """`and` gives its first false argument, `or` its first true one, else the last; the rest is not looked at."""
        if not operands and not piped:
            raise self.error(at, f"wrong number of args for {function.name}: want at least 1 got 0")
        value: object = None
        for operand in operands:
            value = self.value(dot, operand)
            if is_true(value) == (function.name == "or"):
                return value
        return piped[0] if piped else value

    def invoke(self, name: str, function: Function, at: Operand | Command, arguments: tuple[object, ...]) -> object:
        if not function.least <= len(arguments) <= function.most:
            want = f"at least {function.least}" if function.most > function.least else f"{function.least}"
            raise self.error(at, f"wrong number of args for {name}: want {want} got {len(arguments)}")
        try:
            return function.call(*arguments)
        except ValueError as exc:
            raise self.error(at, f"error calling {name}: {exc}") from None

    def fields(self, value: object, at: Operand, names: tuple[str, ...], arguments: tuple[object, ...]) -> object:
        """Follow a chain of names from `value`; arguments go to the last one."""
        for n, name in enumerate(names):
            value = self.field(value, name, at, arguments if n == len(names) - 1 else ())
        return value

    def field(self, value: object, name: str, at: Operand, arguments: tuple[object, ...]) -> object:
        if value is None:
            return None
        if isinstance(value, dict):
            if arguments:
                raise self.error(at, f"{name} is not a method but has arguments")
            return value.get(name)
        if isinstance(value, Struct):
            try:
                found = value.go_field(name)
            except KeyError:
                raise self.error(at, f"can't evaluate field {name} in type {value.go_type}") from None
            if isinstance(found, Function):
                return self.invoke(name, found, at, arguments)
            if arguments:
                raise self.error(at, f"{name} has arguments but cannot be invoked as function")
            return found
        raise self.error(at, f"can't evaluate field {name} in type {type_name(value)}")

    def variable(self, variable: Variable) -> object:
        for name, value in reversed(self.variables):
            if name == variable.name:
                return value
        raise self.error(variable, f"undefined variable: {variable.name}")

    def set(self, name: str, value: object, *, declare: bool) -> None:
        if not declare:
            for place in range(len(self.variables) - 1, -1, -1):
                if self.variables[place][0] == name:
                    self.variables[place] = (name, value)
                    return
        self.variables.append((name, value))

    def error(self, at: Operand | Command | Pipe, text: str) -> TemplateError:
        """A TemplateError that says where: line from 1 and column from 0, as Go counts."""
        before = self.template.text[: at.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
        shown = at.source if len(at.source) <= _SHOWN else at.source[:_SHOWN] + "..."
        name = self.template.name
        return TemplateError(f"template: {name}:{line}:{column}: executing {quote(name)} at <{shown}>: {text}")
