"""An expression's text to a function, in one pass by operator precedence. Kinds are checked on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from waypost.toolkit.expression.builtins import BUILTINS, NOT_YET
from waypost.toolkit.expression.errors import EvaluationError, ExpressionError
from waypost.toolkit.expression.lexer import Token, split
from waypost.toolkit.expression.operators import BINARY, NEGATABLE, UNARY, indexed, negated, signed
from waypost.toolkit.expression.values import Frame, Function, Kind, Part, Run, constant, fits, folded, truth

_LITERALS: Final = {"true": (Kind.BOOL, True), "false": (Kind.BOOL, False), "nil": (Kind.NIL, None)}
# Far below Python's own recursion limit, which counts brackets now and operators in a row when it is evaluated.
_MAX_DEPTH: Final = 100
_MAX_OPERATORS: Final = 300


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression and the kind of its value."""

    kind: Kind
    run: Run
    variables: int

    def evaluate(self, context: object) -> object:
        """The value; `context` is what functions get. Raises EvaluationError."""
        return self.run(Frame(context, [None] * self.variables))


def compile_expression(source: str, functions: Mapping[str, Function]) -> Expression:
    """Compile; `functions` by name stand beside and before the language's own. Raises ExpressionError."""
    compiler = _Compiler(source, functions)
    part = compiler.expression()
    if compiler.token.kind != "EOF":
        raise compiler.unexpected(compiler.token)
    return Expression(part.kind, part.run, compiler.variables)


class _Compiler:
    """Walks over the words. `scope` has the names of `let` with their numbers and kinds."""

    __slots__ = ("_depth", "_functions", "_operators", "_position", "_scope", "_source", "_tokens", "variables")

    def __init__(self, source: str, functions: Mapping[str, Function]) -> None:
        self._source = source
        self._functions = functions
        self._tokens = split(source)
        self._position = 0
        self._scope: dict[str, tuple[int, Kind]] = {}
        self._depth = 0
        self._operators = 0
        self.variables = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    def error(self, text: str, at: int) -> ExpressionError:
        return ExpressionError(text, self._source, at)

    def unexpected(self, token: Token) -> ExpressionError:
        return self.error(f"unexpected token {token}", token.at)

    def take(self) -> Token:
        token = self.token
        if token.kind in ("Operator", "Bracket"):
            self._operators += 1
            if self._operators > _MAX_OPERATORS:
                raise self.error("too many operators", token.at)
        if token.kind != "EOF":
            self._position += 1
        return token

    def expect(self, text: str) -> Token:
        if not self.token.is_operator(text):
            raise self.unexpected(self.token)
        return self.take()

    def expression(self) -> Part:
        """`let`, the ternary operator, and all that binds tighter."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.error("expression nests too deeply", self.token.at)
        if self.token.is_operator("let"):
            part = self.let()
        else:
            part = self.binary(0)
            while self.token.is_operator("?"):
                part = self.ternary(part)
        self._depth -= 1
        return part

    def let(self) -> Part:
        self.take()
        name = self.take()
        if name.kind != "Identifier":
            raise self.unexpected(name)
        if name.text in self._functions or name.text in BUILTINS or name.text in self._scope:
            raise self.error(f"cannot redeclare {name.text}", name.at)
        self.expect("=")
        value = self.expression()
        self.expect(";")
        number = self.variables
        self.variables += 1
        self._scope[name.text] = (number, value.kind)
        body = self.expression()
        del self._scope[name.text]
        given, run = value.run, body.run

        def bound(frame: Frame) -> object:
            frame.variables[number] = given(frame)
            return run(frame)

        return Part(body.kind, bound, name.at)

    def ternary(self, condition: Part) -> Part:
        mark = self.take()
        if condition.kind not in (Kind.BOOL, Kind.ANY):
            raise self.error(f"non-bool expression (type {condition.kind.value}) used as condition", condition.at)
        then = self.expression()
        self.expect(":")
        otherwise = self.expression()
        test, yes, no = condition.run, then.run, otherwise.run
        kind = then.kind if then.kind is otherwise.kind else Kind.ANY
        return Part(kind, lambda frame: yes(frame) if truth(test(frame)) else no(frame), mark.at)

    def piped(self, part: Part) -> Part:
        """`part | f(x)` is `f(part, x)`."""
        self.take()
        name = self.take()
        if name.kind != "Identifier":
            raise self.unexpected(name)
        return self.indexes(self.call(name, (part,)))

    def binary(self, binding: int) -> Part:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self.error("expression nests too deeply", self.token.at)
        left = self.unary()
        while self.token.kind == "Operator":
            sign = self.token
            if sign.text == "|" and not binding:
                left = self.piped(left)
                continue
            follows = self._tokens[self._position + 1] if sign.text == "not" else sign
            operator = BINARY.get(follows.text) if sign is follows or follows.text in NEGATABLE else None
            if operator is None or operator.binding < binding:
                break
            self.take()
            if sign is not follows:
                self.take()
            right = self.binary(operator.binding if operator.right else operator.binding + 1)
            left = self.joined(left, right, follows, operator.make)
            if sign is not follows:
                made = negated(left)
                assert made is not None
                left = Part(*made, sign.at, left.constant)
        self._depth -= 1
        return left

    def joined(
        self, left: Part, right: Part, sign: Token, make: Callable[[Part, Part], tuple[Kind, Run] | None]
    ) -> Part:
        try:
            made = make(left, right)
        except ValueError as exc:
            raise self.error(str(exc), right.at) from exc
        if made is None:
            kinds = f"{left.kind.value} and {right.kind.value}"
            raise self.error(f"invalid operation: {sign.text} (mismatched types {kinds})", left.at)
        return self.worked_out(Part(*made, left.at, left.constant and right.constant))

    def worked_out(self, part: Part) -> Part:
        try:
            return folded(part)
        except EvaluationError as exc:
            raise self.error(str(exc), part.at) from exc

    def unary(self) -> Part:
        sign = self.token
        if sign.kind != "Operator" or sign.text not in UNARY:
            return self.indexes(self.primary())
        self.take()
        part = self.binary(UNARY[sign.text])
        made = negated(part) if sign.text in ("not", "!") else signed(part, -1 if sign.text == "-" else 1)
        if made is None:
            raise self.error(f"invalid operation: {sign.text} (mismatched type {part.kind.value})", sign.at)
        return self.worked_out(Part(*made, sign.at, part.constant))

    def primary(self) -> Part:
        token = self.take()
        if token.is_operator("("):
            part = self.expression()
            self.expect(")")
            return part
        if token.is_operator("["):
            return self.list(token)
        if token.kind == "Number":
            return self.number(token)
        if token.kind == "String":
            return constant(Kind.STRING, token.text, token.at)
        if token.kind == "Identifier":
            return self.name(token)
        if token.is_operator("{"):
            raise self.error("maps are not supported yet", token.at)
        raise self.unexpected(token)

    def number(self, token: Token) -> Part:
        digits = token.text.replace("_", "")
        try:
            if digits[:2].lower() in ("0x", "0b", "0o"):
                return constant(Kind.INT, int(digits, 0), token.at)
            if digits.isdigit():
                return constant(Kind.INT, int(digits), token.at)
            return constant(Kind.FLOAT, float(digits), token.at)
        except ValueError:
            raise self.error(f"invalid number: {token.text}", token.at) from None

    def list(self, start: Token) -> Part:
        parts = self.parts("]")
        runs = [part.run for part in parts]
        always = all(part.constant for part in parts)
        return folded(Part(Kind.ARRAY, lambda frame: [run(frame) for run in runs], start.at, always))

    def parts(self, end: str) -> tuple[Part, ...]:
        """Expressions with commas between them, up to a closing bracket."""
        parts: list[Part] = []
        while not self.token.is_operator(end):
            if parts:
                self.expect(",")
                if self.token.is_operator(end):
                    break
            parts.append(self.expression())
        self.take()
        return tuple(parts)

    def name(self, token: Token) -> Part:
        name = token.text
        if self.token.is_operator("("):
            return self.call(token, ())
        if name in _LITERALS:
            kind, value = _LITERALS[name]
            return constant(kind, value, token.at)
        if name in self._scope:
            number, kind = self._scope[name]
            return Part(kind, lambda frame: frame.variables[number], token.at)
        if name in self._functions or name in BUILTINS:
            raise self.error(f"{name} is a function: write {name}()", token.at)
        raise self.error(f"unknown name {name}", token.at)

    def call(self, token: Token, before: tuple[Part, ...]) -> Part:
        name = token.text
        function = self._functions.get(name) or BUILTINS.get(name)
        if function is None:
            raise self.error(f"{name} is not supported yet" if name in NOT_YET else f"unknown name {name}", token.at)
        self.expect("(")
        parts = (*before, *self.parts(")"))
        if len(parts) != len(function.parameters):
            few = "not enough" if len(parts) < len(function.parameters) else "too many"
            raise self.error(f"{few} arguments to call {name}", token.at)
        for part, wanted in zip(parts, function.parameters, strict=True):
            if not fits(part.kind, wanted):
                text = f"cannot use {part.kind.value} as argument (type {wanted.value}) to call {name}"
                raise self.error(text, part.at)
        return Part(function.result, _calling(function, [part.run for part in parts]), token.at)

    def indexes(self, part: Part) -> Part:
        while self.token.kind in ("Bracket", "Operator"):
            if self.token.is_operator(".", "?."):
                raise self.error("members are not supported yet", self.token.at)
            if not self.token.is_operator("["):
                break
            self.take()
            index = self.expression()
            if self.token.is_operator(":"):
                raise self.error("slices are not supported yet", self.token.at)
            self.expect("]")
            if part.kind not in (Kind.ARRAY, Kind.STRING, Kind.ANY) or not fits(index.kind, Kind.INT):
                raise self.error(f"cannot fetch {index.kind.value} from {part.kind.value}", index.at)
            whole, at = part.run, index.run
            kind = Kind.STRING if part.kind is Kind.STRING else Kind.ANY
            part = Part(kind, partial(_indexed, whole, at), part.at)
        return part


def _indexed(whole: Run, at: Run, frame: Frame) -> object:
    return indexed(whole(frame), at(frame))


def _calling(function: Function, runs: list[Run]) -> Run:
    call = function.call
    if not runs:
        return lambda frame: call(frame.context)
    return lambda frame: call(frame.context, *[run(frame) for run in runs])
