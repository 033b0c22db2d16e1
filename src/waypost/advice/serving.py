"""Advice on labels and blocks: which questions come to which block, and whether anybody answers them there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from waypost.advice.answering import ANSWERING, LEADING
from waypost.advice.finding import WARNING, Remark, Rule
from waypost.advice.subject import Block, Subject
from waypost.advice.zones import REVERSE, meet, more_special, zones_named
from waypost.corefile.addresses import is_ip
from waypost.corefile.model import Token
from waypost.corefile.zones import SCHEME_PORTS

_UNSET: Final = re.compile(r"\{\$([^}]+)\}|\{%(.+?)%\}")


def no_block(subject: Subject) -> Iterator[Remark]:
    """The built-in configuration is served."""
    if not subject.blocks and subject.texts:
        yield Remark(Token("", next(iter(subject.texts)), 1, 0, 1), "there is no server block")


def strange_label(subject: Subject) -> Iterator[Remark]:
    """Labels that are zones, and hardly meant to be."""
    for block in subject.blocks:
        for label in block.labels:
            if reason := _strangeness(label.text):
                yield Remark(label, reason)


def _strangeness(text: str) -> str:
    scheme, separator, rest = text.partition("://")
    if separator and scheme not in SCHEME_PORTS:
        return f"'{text}' has no scheme that is known; it is served as a zone of that name"
    host = (rest if separator else text).rpartition(":")[0] or rest or text
    if text in ("{", "}"):
        return f"a '{text}' too many is served as the zone '{text}.'"
    if "," in text.rstrip(","):
        return f"'{text}' is one zone: a comma separates only with a blank behind it"
    if is_ip(text.strip("[]")) or is_ip(host.strip("[]")):
        return f"'{text}' is a zone; `bind` says on which address to listen"
    if "*" in text:
        return f"'{text}' is a zone with that very name: an asterisk in a label fits nothing else"
    return ""


def zone_twice(subject: Subject) -> Iterator[Remark]:
    """A zone that one kind of source is given twice."""
    for block in subject.blocks:
        for name in ("file", "secondary", "kubernetes", "auto", "k8s_external"):
            seen: set[str] = set()
            for use in block.uses(name):
                for argument, zone in zones_named(name, use):
                    if zone in seen:
                        yield Remark(argument, f"`{name}` has the zone {zone} already")
                    seen.add(zone)


def outside_block(subject: Subject) -> Iterator[Remark]:
    """A zone for which no question comes to the block."""
    for block in subject.blocks:
        for name, use in block.everything:
            for argument, zone in zones_named(name, use):
                if block.zones and zone not in REVERSE and not any(meet(zone, own) for own in block.zones):
                    yield Remark(argument, f"no question for {zone} comes to this block ({' '.join(block.zones[:3])})")


def shadowed_zone(subject: Subject) -> Iterator[Remark]:
    """A zone whose questions go to another block."""
    for block in subject.blocks:
        for name, use in block.everything:
            for argument, zone in zones_named(name, use):
                label = more_special(block, zone, subject) if name in LEADING else None
                if label is not None:
                    yield Remark(argument, f"questions for {zone} go to the block {label.text} (line {label.line})")


def shadowed_view(subject: Subject) -> Iterator[Remark]:
    """Blocks of one zone are tried in file order, and one without a view takes all."""
    open_blocks: dict[tuple[str, str, str], Token] = {}
    for block in subject.blocks:
        if block.has("bind"):
            continue
        for label, address in block.addresses:
            before = open_blocks.get(address)
            if block.has("view") and before is not None:
                text = f"the block {before.text} (line {before.line}) has no view and takes every question first"
                yield Remark(label, text)
            if not _filters(block):
                open_blocks.setdefault(address, label)


def _filters(block: Block) -> bool:
    return any(use.has("expr") for use in block.uses("view"))


def nobody_answers(subject: Subject) -> Iterator[Remark]:
    """Only directives that watch or change."""
    for block in subject.blocks:
        names = set(block.directives)
        if not names & ANSWERING and names <= set(subject.facts.order) and block.addresses:
            yield Remark(block.place, f"no directive of the block {block.place.text} answers questions")


def unset_variable(subject: Subject) -> Iterator[Remark]:
    """A reference to nothing is nothing."""
    for file, text in subject.texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            for found in _UNSET.finditer(line.partition("#")[0]):
                name = found[1] or found[2]
                if subject.facts.environment is not None and name not in subject.facts.environment:
                    token = Token("", file, number, 0, found.start() + 1)
                    yield Remark(token, f"the environment variable {name} is not set: the word is empty")


RULES: Final = (
    Rule(
        "W301", WARNING, "no server block",
        "The built-in configuration is used: it answers every question with the client's own address.",
        "Write a block such as `.:53 { ... }`.",
        no_block,
    ),
    Rule(
        "W302", WARNING, "a label that hardly says what is meant",
        "Nearly every text is a name in DNS, so it is served and no question comes.",
        "Correct the label.",
        strange_label,
    ),
    Rule(
        "W303", WARNING, "a zone twice",
        "Only one of the two sources is asked.",
        "Delete one.",
        zone_twice,
    ),
    Rule(
        "W304", WARNING, "a zone outside its block",
        "Questions for it go to other blocks, or are refused.",
        "Add the zone to the block's labels, or move the directive to the block of that zone.",
        outside_block,
    ),
    Rule(
        "W305", WARNING, "a zone that another block has taken",
        "The block with the longest fitting label gets the question, and there is no way back from it.",
        "Move the directive into that block.",
        shadowed_zone,
    ),
    Rule(
        "W306", WARNING, "a view behind a block that takes everything",
        "Blocks of one zone and port are tried in file order.",
        "Put the block without a view last.",
        shadowed_view,
    ),
    Rule(
        "W307", WARNING, "a block in which nothing answers",
        "Questions are answered SERVFAIL or REFUSED; there is no way on to the block `.`.",
        "Add a directive that answers, or delete the block.",
        nobody_answers,
    ),
    Rule(
        "W308", WARNING, "an environment variable that is not set",
        "An empty word stays where it stood, and is an argument.",
        "Set it, or write the value.",
        unset_variable,
    ),
)  # fmt: skip
