"""Advice on a Corefile in text, with facts given by hand."""

from __future__ import annotations

from collections.abc import Mapping

from support.corefiles import DictReader
from waypost.advice.advise import advise
from waypost.advice.finding import Finding
from waypost.advice.subject import Facts, Subject, take_apart
from waypost.corefile.parser import parse
from waypost.plugins.order import ORDER

UNKNOWN = Facts(ORDER)
"""Nothing but the order of directives is known."""


def make_subject(text: str, facts: Facts = UNKNOWN, files: Mapping[str, str] | None = None) -> Subject:
    """What the rules look at; `files` are those that can be imported, by absolute path."""
    reader = DictReader(files)
    corefile = parse(text, "Corefile", env={}, known=ORDER, read=reader)
    read = {path: reader.files[path] for path in reader.reads}
    return Subject(take_apart(corefile, "53"), facts, {"Corefile": text, **read})


def findings(text: str, facts: Facts = UNKNOWN, files: Mapping[str, str] | None = None) -> list[Finding]:
    """All advice on a Corefile."""
    return advise(make_subject(text, facts, files))


def codes(text: str, facts: Facts = UNKNOWN) -> set[str]:
    """The codes of the advice on a Corefile."""
    return {finding.code for finding in findings(text, facts)}
