"""Which directives answer, for which zones, and what they leave to the ones behind them in the fixed order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Block, Subject, Use
from waypost.advice.zones import ROOT, falls_through, meet, within, zones_of

# These end with an answer what comes to them, each for its zones.
LEADING: Final = frozenset(
    ("k8s_external", "kubernetes", "file", "auto", "secondary", "etcd", "forward", "grpc", "erratic", "whoami", "nomad",
     "route53", "azure", "clouddns")
)  # fmt: skip
# And these answer some questions.
ANSWERING: Final = LEADING | frozenset(("any", "chaos", "hosts", "local", "template"))
_EVERYTHING: Final = frozenset(("erratic", "whoami"))
# `auto` knows only the zones that it finds, and cloud zones stand in another notation.
_OPEN: Final = frozenset(("auto", "route53", "azure", "clouddns"))
_PASSING: Final = ("next", "next_on_nodata", "except")
_CATCH_ALL: Final = re.compile(r"\^?\(?\.[*+]\)?\.?\$?")


class Source(NamedTuple):
    """A directive that answers, with its zones as far as they meet the block's."""

    name: str
    use: Use
    zones: tuple[str, ...]


def sources(block: Block, order: tuple[str, ...]) -> list[Source]:
    """The directives of LEADING in the order in which a question meets them."""
    return [
        Source(name, use, tuple(_narrowed(_zones(name, use, block), block)))
        for name in order
        if name in LEADING
        for use in block.uses(name)
    ]


def _zones(name: str, use: Use, block: Block) -> tuple[str, ...]:
    return (ROOT,) if name in _EVERYTHING else zones_of(name, use, block)


def _narrowed(zones: tuple[str, ...], block: Block) -> Iterator[str]:
    for zone in zones:
        for own in block.zones:
            if meet(zone, own):
                yield zone if within(zone, own) else own


def _kept(source: Source) -> Iterator[str]:
    """The zones that nothing is left of for those behind."""
    name, use, zones = source
    if name in _OPEN or any(map(use.has, _PASSING)):
        return
    yield from (zone for zone in zones if not falls_through(use, zone))


def unreachable(subject: Subject) -> Iterator[Remark]:
    """All of its zones are answered by directives in front of it."""
    for block in subject.blocks:
        taken: dict[str, Source] = {}
        for source in sources(block, subject.facts.order):
            before = [next((taken[own] for own in taken if within(zone, own)), None) for zone in source.zones]
            if source.zones and all(before) and (first := before[0]) is not None:
                zones = " ".join(source.zones[:3])
                answers = f"`{first.name}` (line {first.use.name.line}) answers"
                yield Remark(source.use.name, f"`{source.name}` is never asked for {zones}: {answers}")
            for zone in _kept(source):
                taken.setdefault(zone, source)


def hosts_ends(subject: Subject) -> Iterator[Remark]:
    """Names that are not in the table go no further."""
    for block, use in subject.uses("hosts"):
        zones = zones_of("hosts", use, block)
        if not use.has("fallthrough") and (behind := _behind(subject, block, zones)):
            yield Remark(use.name, f"`hosts` without `fallthrough` in front of `{behind}`")


def template_ends(subject: Subject) -> Iterator[Remark]:
    """Names that fit no pattern go no further."""
    for block, use in subject.uses("template"):
        patterns = [word for option in use.all("match") for word in option.words]
        if not patterns or any(map(_CATCH_ALL.fullmatch, patterns)) or use.has("fallthrough"):
            continue
        if behind := _behind(subject, block, zones_of("template", use, block)):
            yield Remark(use.name, f"`template` with `match` and without `fallthrough` in front of `{behind}`")


def _behind(subject: Subject, block: Block, zones: tuple[str, ...]) -> str:
    """A source in the block for a part of these zones."""
    for source in sources(block, subject.facts.order):
        if any(meet(zone, own) for zone in zones for own in source.zones):
            return source.name
    return ""


def falls_into_nothing(subject: Subject) -> Iterator[Remark]:
    """`fallthrough`, and nobody is there."""
    for block in subject.blocks:
        found = sources(block, subject.facts.order)
        if not found:
            continue
        last = found[-1]
        option = last.use.last("fallthrough")
        if option is not None:
            yield Remark(option.name, f"behind `{last.name}` nothing answers in this block")


RULES: Final = (
    Rule(
        "W403", WARNING, "a directive that no question reaches",
        "The order of directives is fixed; one in front of it answers for all of its zones and passes nothing on.",
        "Delete one, give them different zones, or write `fallthrough` in the first.",
        unreachable,
    ),
    Rule(
        "W404", WARNING, "`hosts` without `fallthrough`",
        "Every name that is not in its table ends there with SERVFAIL, also those that the directives behind it know.",
        "Write `fallthrough` into its block.",
        hosts_ends,
    ),
    Rule(
        "W405", WARNING, "`template` with a pattern and without `fallthrough`",
        "A name of its zone that fits no pattern ends there with SERVFAIL.",
        "Write `fallthrough` into its block, or narrow its zone.",
        template_ends,
    ),
    Rule(
        "W406", NOTICE, "`fallthrough` with nothing behind it",
        "Names that are not found are then answered SERVFAIL instead of NXDOMAIN.",
        "Delete the line, or add what is to answer.",
        falls_into_nothing,
    ),
)  # fmt: skip
