"""Findings of a check for people, for programs, and as annotations of GitHub."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from waypost.advice.finding import ERROR, NOTICE, WARNING, Finding
from waypost.cli.world import printable

_COLOURS: Final = {ERROR: "31", WARNING: "33", NOTICE: "36"}
_ESCAPES: Final = (("%", "%25"), ("\r", "%0D"), ("\n", "%0A"))
_PROPERTY_ESCAPES: Final = (*_ESCAPES, (":", "%3A"), (",", "%2C"))


def print_findings(findings: Sequence[Finding], files: Sequence[str], output: str) -> None:
    """Print them in one of the forms of OUTPUTS; `files` are what was checked."""
    OUTPUTS[output](findings, files)


def _text(findings: Sequence[Finding], files: Sequence[str]) -> None:
    coloured = sys.stdout.isatty()
    for finding in findings:
        severity = f"{finding.severity} {finding.code}".rstrip()
        if coloured:
            severity = f"\x1b[{_COLOURS[finding.severity]}m{severity}\x1b[0m"
        print(f"{printable(_place(finding))}: {severity}: {printable(finding.found)}")
        if more := " ".join(filter(None, (finding.why, finding.remedy))):
            print(f"    {more}")
    counts = Counter(finding.severity for finding in findings)
    named = [_counted(counts[ERROR], "error")]
    named += [_counted(counts[severity], severity) for severity in (WARNING, NOTICE) if counts[severity]]
    print(f"{printable(files[0]) if len(files) == 1 else _counted(len(files), 'file')}: {', '.join(named)}")


def _place(finding: Finding) -> str:
    """`FILE:LINE:COLUMN` as far as it is known."""
    numbers = [str(number) for number in (finding.line, finding.column) if number]
    return ":".join([finding.file, *numbers])


def _counted(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"


def _json(findings: Sequence[Finding], files: Sequence[str]) -> None:
    import json
    from dataclasses import asdict

    counts = Counter(finding.severity for finding in findings)
    value = {
        "files": list(files),
        "errors": counts[ERROR],
        "warnings": counts[WARNING],
        "notices": counts[NOTICE],
        "findings": [asdict(finding) for finding in findings],
    }
    print(json.dumps(value, indent=2))


def _github(findings: Sequence[Finding], _: Sequence[str]) -> None:
    """Workflow commands: an annotation of a line in a pull request each."""
    for finding in findings:
        places = {"file": finding.file, "line": finding.line, "col": finding.column, "title": finding.code}
        properties = ",".join(
            f"{key}={_escaped(str(value), _PROPERTY_ESCAPES)}" for key, value in places.items() if value
        )
        message = ". ".join(filter(None, (finding.found, " ".join(filter(None, (finding.why, finding.remedy))))))
        print(f"::{finding.severity} {properties}::{_escaped(message, _ESCAPES)}")


def _escaped(text: str, escapes: Sequence[tuple[str, str]]) -> str:
    text = text.encode("utf-8", "backslashreplace").decode()
    for char, replacement in escapes:
        text = text.replace(char, replacement)
    return text


OUTPUTS: Final[dict[str, Callable[[Sequence[Finding], Sequence[str]], None]]] = {
    "text": _text,
    "json": _json,
    "github": _github,
}
