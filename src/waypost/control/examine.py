"""Judge a configuration without running it: every error that can be found, and the advice that there is.

Nothing is started and no socket opened; files that the configuration names are read.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from typing import Final

from waypost.advice.advise import advise
from waypost.advice.finding import ERROR, Finding
from waypost.advice.hints import hint
from waypost.advice.subject import Block, Facts, Subject, take_apart
from waypost.control.build import build
from waypost.control.catalogue import installed
from waypost.control.document import Document, DocumentReader, facts_of_files
from waypost.control.lender import Lease, Pool
from waypost.corefile.addresses import parse_port
from waypost.corefile.errors import CorefileError
from waypost.corefile.imports import Reader
from waypost.corefile.model import Corefile, Token
from waypost.corefile.parser import parse
from waypost.dispatch.site import Hooks, Services
from waypost.log import Log
from waypost.metrics.registry import Registry

_MOST_ERRORS: Final = 100
_LOGGED: Final = ("[WARNING] ", "[ERROR] ")
_ABOUT_A_FILE: Final = re.compile(r"no such file|does not exist|open error|is a directory", re.IGNORECASE)


def examine(document: Document) -> list[Finding]:
    """Errors first, then the advice, each in order of place. Raises CorefileError for a package that does not fit."""
    catalogue = installed()
    reader = DocumentReader(document)
    notes = _Notes(document, catalogue.order)
    corefile = _parse(document, catalogue.order, reader, notes)
    if corefile is None:
        return notes.errors
    build(corefile, document.port, _services(notes), catalogue, report=notes)
    blocks = take_apart(corefile, document.port)
    _check_ports(blocks, notes)
    facts = Facts(
        order=catalogue.order,
        environment=None if document.elsewhere else frozenset(os.environ),
        warnings=tuple(dict.fromkeys(notes.warnings)),
        missing=tuple(notes.missing),
    )
    subject = Subject(blocks, facts, {document.name: document.text, **reader.texts})
    advice = advise(replace(subject, facts=facts_of_files(document, subject)))
    return sorted(notes.errors, key=lambda error: (error.file, error.line, error.column)) + advice


def _parse(document: Document, known: Container[str], reader: Reader, notes: _Notes) -> Corefile | None:
    try:
        return parse(document.text, document.name, env=os.environ, known=known, read=reader, report=notes.error)
    except CorefileError as error:
        notes.error(error)
        return None


def _check_ports(blocks: Iterable[Block], notes: _Notes) -> None:
    """A port that is none is found by the start, which is not made."""
    for label, address in (pair for block in blocks for pair in block.addresses):
        try:
            parse_port(address.port)
        except ValueError as exc:
            notes.error(CorefileError.at(label, str(exc)))


def _services(notes: _Notes) -> Services:
    """What plugins are given while they are set up; none of it does anything."""
    return Services(
        log=Log(notes.stream),
        metrics=Registry(),
        lender=Lease(Pool()),
        hooks=Hooks(),
        exit=lambda code: None,
        watch_configuration=lambda every, jitter: None,
    )


class _Notes:
    """Takes down errors and what plugins log, each with the place that is being set up."""

    def __init__(self, document: Document, known: Sequence[str]) -> None:
        self.document = document
        self.known = known
        self.errors: list[Finding] = []
        self.missing: list[tuple[Token, str]] = []
        self.warnings: list[tuple[Token, str]] = []
        self.stream = _Lines(self._log)
        self._place = Token("", document.name, 0)

    def at(self, token: Token) -> None:
        """What follows is about this place."""
        self._place = token

    def error(self, error: CorefileError) -> None:
        """An error at its own place, else at the one being set up; one at the place of the last one follows from it."""
        place = Token("", error.file, error.line, 0, error.column) if error.file else self._place
        text = error.prefix + error.text
        if self.document.elsewhere and _is_about_a_file(error):
            self.missing.append((place, text))
            return
        remedy = hint(text, self.known, self.document.text)
        found = Finding(place.file, place.line, place.column, ERROR, text, remedy=remedy)
        if self._follows(found) or len(self.errors) >= _MOST_ERRORS:
            return
        self.errors.append(found)

    def _follows(self, found: Finding) -> bool:
        """Whether an error is only another word for the last one."""
        last = self.errors[-1] if self.errors else None
        same = last is not None and (last.file, last.line, last.column) == (found.file, found.line, found.column)
        return same and found.line > 0

    def _log(self, line: str) -> None:
        for level in _LOGGED:
            if line.startswith(level):
                about_a_file = self.document.elsewhere and _ABOUT_A_FILE.search(line)
                kept = self.missing if about_a_file else self.warnings
                kept.append((self._place, line.removeprefix(level).rstrip("\n")))


class _Lines(io.StringIO):
    """A stream that hands on what is written to it."""

    def __init__(self, take: Callable[[str], None]) -> None:
        super().__init__()
        self._take = take

    def write(self, text: str, /) -> int:
        """Lines come whole."""
        self._take(text)
        return len(text)


def _is_about_a_file(error: BaseException | None) -> bool:
    """Whether an error comes from a file that cannot be opened here."""
    while error is not None:
        if isinstance(error, OSError):
            return True
        error = error.__cause__
    return False
