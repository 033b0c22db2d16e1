"""Tokens to server blocks.

    file      := { import line | snippet | block }
    snippet   := "(" name ")" "{" body "}"
    block     := label { ("," | blank) label } "{" body "}"        or, as the last one, without braces
    body      := { directive | import line }
    directive := name { argument } [ "{" lines "}" ]

A directive ends with its line, unless a brace is open. Braces count only where they are words of their own. What
the words of a directive mean is its plugin's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from waypost.corefile.errors import CorefileError
from waypost.corefile.imports import Importer, Reader, depth_exceeded
from waypost.corefile.lexer import tokenize
from waypost.corefile.limits import Budget
from waypost.corefile.model import Corefile, Directive, ServerBlock, Token
from waypost.corefile.stream import Origin, TokenStream
from waypost.corefile.variables import Variables, valid_text

Report = Callable[[CorefileError], None]
"""Takes an error that does not keep the rest from being read."""


def parse(
    text: str,
    file: str,
    *,
    env: Mapping[str, str],
    known: Container[str],
    read: Reader,
    base: str = "",
    report: Report | None = None,
) -> Corefile:
    """The server blocks of `text`; none if it holds only comments and snippets.

    `file` is the name that messages show and, seen from the directory `base`, the place that relative imports
    start from. `known` are the names of all directives. Raises CorefileError, and for any text within bounded work;
    with `report` only for a text that is beyond these bounds. Unknown directives are among the others then.
    """
    start = Token("", file, 0)
    budget = Budget()
    budget.spend_characters(len(text), start)
    variables = Variables(env, budget)
    importer = Importer(read, base, variables)
    main = read.absolute(file, base)
    importer.files[main] = None
    stream = TokenStream(tokenize(valid_text(text), file), Origin(main), start, budget)
    blocks = Parser(stream, importer, variables, known, report).blocks()
    return Corefile(tuple(blocks), tuple(importer.files), tuple(importer.warnings))


class Parser:
    """One pass over the tokens of a Corefile; each method reads the piece of grammar it is named after."""

    __slots__ = ("importer", "known", "report", "stream", "variables")

    def __init__(
        self,
        stream: TokenStream,
        importer: Importer,
        variables: Variables,
        known: Container[str],
        report: Report | None = None,
    ) -> None:
        self.stream = stream
        self.importer = importer
        self.variables = variables
        self.known = known
        self.report = report

    def complain(self, error: CorefileError) -> None:
        """Report an error, or raise it if nobody takes reports."""
        if self.report is None:
            raise error
        self.report(error)

    def bring_in(self) -> None:
        """Carry out the import line whose first word is current; one that cannot be carried out brings in nothing."""
        try:
            self.importer.carry_out(self.stream)
        except CorefileError as error:
            self.complain(error)
            while self.stream.next_on_line():
                pass

    def blocks(self) -> list[ServerBlock]:
        blocks = []
        while self.stream.next():
            block = self.block()
            if block is not None and (block.labels or block.directives):
                blocks.append(block)
        return blocks

    def block(self) -> ServerBlock | None:
        """A server block, or None for a snippet; begins at its first label."""
        labels, at_end = self.labels()
        if at_end:
            return ServerBlock(labels, ())
        if len(labels) == 1 and labels[0].text.startswith("(") and labels[0].text.endswith(")"):
            self.snippet(labels[0].text[1:-1])
            return None
        braced = self.stream.current.text == "{"
        if not braced:
            self.stream.step_back()
        directives = self.directives()
        if braced and self.stream.current.text != "}":
            self.complain(CorefileError.syntax(self.stream.current, "}"))
        return ServerBlock(labels, directives)

    def labels(self) -> tuple[tuple[Token, ...], bool]:
        """The labels up to the brace or word that opens the body, and whether the text ended before that."""
        stream = self.stream
        labels: list[Token] = []
        expecting = False
        while True:
            if stream.current.text == "import" and stream.starts_line:
                self.bring_in()
                if stream.next():
                    continue
                at_end = True
            elif stream.current.text == "{":
                if expecting:
                    text = "Expected another address but had '{' - check for extra comma"
                    self.complain(CorefileError.at(stream.current, text))
                return tuple(labels), False
            else:
                label = self.variables.expand(stream.current)
                if label.text:
                    expecting = label.text.endswith(",")
                    labels.append(label._replace(text=label.text.removesuffix(",")))
                at_end = not stream.next()
            if at_end and expecting:
                self.complain(CorefileError.end_of_file(stream.current))
            if at_end or (not expecting and stream.starts_line):
                return tuple(labels), at_end

    def snippet(self, name: str) -> None:
        stream = self.stream
        if name in self.importer.snippets:
            self.complain(CorefileError.at(stream.current, f"redeclaration of previously declared snippet {name}"))
        if stream.current.text != "{":
            self.complain(CorefileError.syntax(stream.current, "{"))
            stream.step_back()
            return
        opening = stream.current
        body: list[Token] = []
        depth = 1
        while stream.next():
            depth += {"{": 1, "}": -1}.get(stream.current.text, 0)
            if depth == 0:
                break
            body.append(stream.current)
        else:
            self.complain(CorefileError.syntax(stream.current, "}"))
        for before, word, argument in zip([opening, *body], body, body[1:], strict=False):
            if word.text == "import" and argument.text == name and not word.continues(before):
                self.complain(depth_exceeded(stream.current, "snippet"))
        self.importer.snippets.setdefault(name, body)

    def directives(self) -> tuple[Directive, ...]:
        """The body of a server block, up to its `}` or the end of the text."""
        stream = self.stream
        tokens: dict[str, list[Token]] = {}
        while stream.next() and stream.current.text != "}":
            if stream.current.text == "import":
                self.bring_in()
                continue
            name = self.variables.expand(stream.current)
            if name.text not in self.known:
                self.complain(CorefileError.at(name, f"Unknown directive '{name.text}'"))
            occurrence = tokens.setdefault(name.text, [])
            occurrence.append(name)
            self.arguments(occurrence)
        return tuple(Directive(name, tuple(occurrences)) for name, occurrences in tokens.items())

    def arguments(self, tokens: list[Token]) -> None:
        """Append the rest of a directive to `tokens`: its line, and its block if it has one."""
        stream = self.stream
        depth = 0
        while stream.next():
            text = stream.current.text
            if text == "{":
                # Also on a line of its own: the plugin then sees no block, but further occurrences of itself.
                depth += 1
            elif depth == 0 and stream.starts_line:
                stream.step_back()
                return
            elif text == "}":
                if depth == 0:
                    text = "Unexpected '}' because no matching opening brace"
                    self.complain(CorefileError.at(stream.current, text))
                    stream.step_back()
                    return
                depth -= 1
            elif text == "import" and stream.starts_line:
                self.bring_in()
                continue
            tokens.append(self.variables.expand(stream.current))
        if depth > 0:
            self.complain(CorefileError.end_of_file(stream.current))
