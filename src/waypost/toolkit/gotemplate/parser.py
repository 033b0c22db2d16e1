"""Tokens to nodes, with the errors that Go's parser gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from waypost.corefile.quoting import quote
from waypost.toolkit.gotemplate import literals
from waypost.toolkit.gotemplate.errors import TemplateError
from waypost.toolkit.gotemplate.lexer import Kind, Token, tokenize
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
    Node,
    Nodes,
    Operand,
    Pipe,
    Text,
    Variable,
)

# Deeper nesting could run into Python's recursion limit.
_MAX_DEPTH: Final = 40
_STARTS: Final = frozenset((Kind.FIELD, Kind.VARIABLE, Kind.DOT, Kind.NAME, Kind.NUMBER, Kind.CHARACTER, Kind.STRING))
_WORDS: Final[dict[str, bool]] = {"true": True, "false": False}


def parse(name: str, text: str, functions: Collection[str]) -> Nodes:
    """The nodes of a template. `functions` are the names that may be called. Raises TemplateError."""
    return _Parser(name, text, functions).template()


class _Parser:
    """One pass over the tokens; each method reads what it is named after."""

    __slots__ = ("ahead", "depth", "functions", "loops", "name", "read", "text", "tokens", "variables")

    def __init__(self, name: str, text: str, functions: Collection[str]) -> None:
        self.name = name
        self.text = text
        self.functions = functions
        self.tokens: Iterator[Token] = tokenize(text)
        self.ahead: list[Token] = []
        self.read = Token(Kind.TEXT, "", 0)
        self.variables = ["$"]
        self.depth = 0
        self.loops = 0

    def template(self) -> Nodes:
        nodes, ended_by = self.nodes()
        if ended_by.kind is not Kind.EOF:
            raise self.error(f"unexpected {{{{{ended_by.text}}}}}")
        return nodes

    def nodes(self) -> tuple[Nodes, Token]:
        """Nodes up to an `end` or `else` keyword or the end of the text, which is given too."""
        nodes: list[Node] = []
        while True:
            token = self.next()
            if token.kind is Kind.EOF or (token.kind is Kind.KEYWORD and token.text in ("end", "else")):
                if token.text == "end":
                    self.close("end")
                return tuple(nodes), token
            nodes.append(Text(token.text) if token.kind is Kind.TEXT else self.action(token))

    def action(self, token: Token) -> Node:
        if token.kind is not Kind.KEYWORD:
            self.ahead.insert(0, token)
            return Action(self.pipeline("command"))
        if token.text in ("if", "with", "range"):
            return self.branch(token.text)
        if token.text in ("break", "continue"):
            if not self.loops:
                raise self.error(f"{{{{{token.text}}}}} outside {{{{range}}}}")
            self.close(f"{{{{{token.text}}}}}")
            return Jump(token.text)
        raise self.error(f"{{{{{token.text}}}}} is not supported yet")

    def descend(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error("template nested too deep")

    def branch(self, keyword: str) -> Branch:
        """A control structure behind its keyword, up to and with its `end`."""
        self.descend()
        known = len(self.variables)
        pipe = self.pipeline(keyword)
        self.loops += keyword == "range"
        body, ended_by = self.nodes()
        self.loops -= keyword == "range"
        otherwise: Nodes = ()
        if ended_by.text == "else":
            otherwise, ended_by = self.otherwise(keyword)
        if ended_by.kind is Kind.EOF:
            raise self.error("unexpected EOF")
        if ended_by.text != "end":
            raise self.error("expected end; found {{else}}")
        del self.variables[known:]
        self.depth -= 1
        return Branch(keyword, pipe, body, otherwise)

    def otherwise(self, keyword: str) -> tuple[Nodes, Token]:
        """What stands behind `else`, and the keyword that ends it; the end of an `else if` is that of its `if`."""
        following = self.peek()
        if keyword != "range" and following.kind is Kind.KEYWORD and following.text == keyword:
            self.next()
            return (self.branch(keyword),), Token(Kind.KEYWORD, "end", self.read.position)
        self.close("else")
        return self.nodes()

    def close(self, context: str) -> None:
        token = self.next()
        if token.kind is not Kind.CLOSE:
            raise self.unexpected(token, context)

    def pipeline(self, context: str, closing: str = "") -> Pipe:
        """Up to and with the end of the action, or a closing parenthesis."""
        start = self.peek()
        variables, assigns = ((), False) if closing else self.declarations(context)
        commands: list[Command] = []
        while True:
            token = self.peek()
            if token.kind is Kind.CLOSE or (token.kind is Kind.SYMBOL and token.text == closing):
                if not commands:
                    raise self.error(f"missing value for {context}")
                self.check_commands(commands)
                self.next()
                if not assigns:
                    self.variables.extend(variables)
                return Pipe(variables, assigns, tuple(commands), start.position, self.source(start, token.position))
            if token.kind not in _STARTS and token.text != "(":
                self.next()
                raise self.unexpected(token, context)
            commands.append(self.command())

    def check_commands(self, commands: list[Command]) -> None:
        for stage, command in enumerate(commands[1:], 2):
            if isinstance(command.operands[0], Constant | Dot | Nil | Pipe):
                raise self.error(f"non executable command in pipeline stage {stage}")

    def declarations(self, context: str) -> tuple[tuple[str, ...], bool]:
        """`$x :=`, `$x =` or, for range, `$i, $x :=`; nothing if the pipeline sets no variable."""
        first, second = self.peek(), self.peek(1)
        if first.kind is not Kind.VARIABLE or second.kind is not Kind.SYMBOL:
            return (), False
        names = [first.text]
        taken = 2
        if second.text == "," and context == "range":
            third, second = self.peek(2), self.peek(3)
            if third.kind is not Kind.VARIABLE or second.text not in (":=", "="):
                raise self.error(f"range can only initialize variables, found {quote(third.text)}")
            names.append(third.text)
            taken = 4
        if second.text not in (":=", "="):
            return (), False
        for _ in range(taken):
            self.next()
        if second.text == "=":
            for name in names:
                self.check_variable(name)
        return tuple(names), second.text == "="

    def command(self) -> Command:
        start = self.peek()
        operands: list[Operand] = []
        while True:
            operands.append(self.operand())
            token = self.peek()
            if token.kind is Kind.CLOSE or (token.kind is Kind.SYMBOL and token.text in ("|", ")")):
                command = Command(tuple(operands), start.position, self.source(start, token.position))
                if token.text == "|":
                    self.next()
                    if self.peek().kind is Kind.CLOSE or self.peek().text in (")", "|"):
                        raise self.error("missing value for command")
                return command
            if not token.spaced or token.kind in (Kind.KEYWORD, Kind.ERROR, Kind.EOF):
                self.next()
                raise self.unexpected(token, "operand")

    def operand(self) -> Operand:
        start = self.next()
        term = self.term(start)
        names: list[str] = []
        chained = self.peek()
        while self.peek().kind is Kind.FIELD and not self.peek().spaced:
            names.append(self.next().text[1:])
        if not names:
            return term
        source = self.source(start, self.read.position + len(self.read.text))
        if isinstance(term, Field):
            return Field((*term.names, *names), chained.position, source)
        if isinstance(term, Variable):
            return Variable(term.name, tuple(names), chained.position, source)
        if isinstance(term, Constant | Nil | Dot):
            raise self.error(f"unexpected . after term {quote(term.source)}")
        return Chain(term, tuple(names), chained.position, source)

    def term(self, token: Token) -> Operand:
        position, text = token.position, token.text
        if token.kind is Kind.FIELD:
            return Field((text[1:],), position, text)
        if token.kind is Kind.VARIABLE:
            self.check_variable(text)
            return Variable(text, (), position, text)
        if token.kind is Kind.DOT:
            return Dot(position, text)
        if token.kind is Kind.NAME:
            if text in _WORDS:
                return Constant(_WORDS[text], position, text)
            if text == "nil":
                return Nil(position, text)
            if text not in self.functions:
                raise self.error(f"function {quote(text)} not defined")
            return Identifier(text, position, text)
        if token.kind is Kind.SYMBOL and text == "(":
            self.descend()
            pipe = self.pipeline("parenthesized pipeline", ")")
            self.depth -= 1
            return pipe
        return self.literal(token)

    def literal(self, token: Token) -> Constant:
        readers = {
            Kind.NUMBER: (literals.number, "bad number syntax: "),
            Kind.CHARACTER: (literals.character, "malformed character constant: "),
            Kind.STRING: (literals.string, ""),
        }
        if token.kind not in readers:
            raise self.unexpected(token, "operand")
        reader, complaint = readers[token.kind]
        try:
            return Constant(reader(token.text), token.position, token.text)
        except ValueError as exc:
            what = quote(token.text) if token.kind is Kind.NUMBER else token.text if complaint else str(exc)
            raise self.error(complaint + what) from None

    def check_variable(self, name: str) -> None:
        if name not in self.variables:
            raise self.error(f"undefined variable {quote(name)}")

    def peek(self, distance: int = 0) -> Token:
        while len(self.ahead) <= distance:
            token = next(self.tokens, None)
            if token is None:
                return self.ahead[-1] if self.ahead else self.read
            self.ahead.append(token)
        return self.ahead[distance]

    def next(self) -> Token:
        token = self.peek()
        if self.ahead:
            del self.ahead[0]
        self.read = token
        if token.kind is Kind.ERROR:
            raise self.error(token.text)
        return token

    def source(self, start: Token, end: int) -> str:
        return self.text[start.position : end].strip()

    def unexpected(self, token: Token, context: str) -> TemplateError:
        if token.kind is Kind.EOF:
            return self.error("unexpected EOF")
        text = f"<{token.text}>" if token.kind is Kind.KEYWORD else _shortened(token.text)
        return self.error(f"unexpected {text} in {context}")

    def error(self, text: str) -> TemplateError:
        line = 1 + self.text.count("\n", 0, self.read.position)
        return TemplateError(f"template: {self.name}:{line}: {text}")


def _shortened(text: str) -> str:
    return f"{quote(text[:10])}..." if len(text) > 10 else quote(text)
