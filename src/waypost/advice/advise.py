"""All rules on one Corefile."""

from __future__ import annotations

from waypost.advice.comments import silenced
from waypost.advice.finding import Finding, Rule
from waypost.advice.rules import RULES
from waypost.advice.subject import Subject
from waypost.corefile.model import Token


def advise(subject: Subject) -> list[Finding]:
    """What there is to say of a Corefile, in order of place; nothing that comments silence."""
    quiet = silenced(subject.texts)
    heads = _heads(subject)
    found = []
    for rule in RULES:
        for token, text in rule.judge(subject):
            lines = (token.line, heads.get((token.file, token.line), token.line))
            if not any((token.file, line, rule.code) in quiet for line in lines):
                found.append(_finding(rule, token, text))
    return sorted(dict.fromkeys(found), key=lambda finding: (finding.file, finding.line, finding.column, finding.code))


def _heads(subject: Subject) -> dict[tuple[str, int], int]:
    """For each line of a directive the line on which it begins: a comment there is for the whole directive."""
    return {
        (token.file, token.line): use.name.line
        for block in subject.blocks
        for _, use in block.everything
        for option in use.options
        for token in (option.name, *option.values)
        if token.file == use.name.file
    }


def _finding(rule: Rule, token: Token, found: str) -> Finding:
    return Finding(token.file, token.line, token.column, rule.severity, found, rule.code, rule.why, rule.remedy)
