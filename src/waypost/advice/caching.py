"""Advice on `cache`: what it keeps, for how long, and what it does not do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Subject, Use
from waypost.advice.zones import ROOT, is_reverse, within, zones_of
from waypost.corefile.values import parse_duration
from waypost.corefile.zones import zones_of_argument

_WITH_UNIT: Final = re.compile(r"[0-9.]+(ns|us|\u00b5s|ms|s|m|h)([0-9.]+(ms|s|m|h))*")
_SMALLEST: Final = 1024
_KINDS: Final = ("success", "denial")


def own_zones_cached(subject: Subject) -> Iterator[Remark]:
    """Answers that the block makes from memory are kept as if they came from far away."""
    for block, use in subject.uses("cache"):
        cached = zones_of("cache", use, block)
        for source in block.uses("kubernetes"):
            for zone in zones_of("kubernetes", source, block):
                if is_reverse(zone) or not any(within(zone, other) for other in cached):
                    continue
                kept = [kind for kind in _KINDS if not _is_disabled(use, kind, zone)]
                if kept:
                    yield Remark(use.name, f"answers of {zone} are cached: no `disable {kept[0]} {zone[:-1]}`")


def _is_disabled(use: Use, kind: str, zone: str) -> bool:
    lines = [option for option in use.all("disable") if option.words[:1] == (kind,)]
    if not lines:
        return False
    zones = [other for word in lines[-1].words[1:] for other in zones_of_argument(word)] or [ROOT]
    return any(within(zone, other) for other in zones)


def cache_missing(subject: Subject) -> Iterator[Remark]:
    """Every question goes upstream."""
    for block in subject.using("forward", "grpc"):
        if not block.has("cache"):
            use = block.first("forward") or block.first("grpc")
            if use is not None:
                yield Remark(use.name, "a block that forwards has no `cache`")


def stale_first(subject: Subject) -> Iterator[Remark]:
    """What has expired is served before anybody is asked."""
    for _, use in subject.uses("cache"):
        option = use.last("serve_stale")
        if option is not None and "verify" not in option.words and option.words[:1] not in (("0",), ("0s",)):
            yield Remark(option.name, "serve_stale without `verify`")


def ttl_with_unit(subject: Subject) -> Iterator[Remark]:
    """A TTL is a plain number; anything else is a zone."""
    for _, use in subject.uses("cache"):
        for argument in use.args:
            if _WITH_UNIT.fullmatch(argument.text) and _is_duration(argument.text):
                yield Remark(argument, f"'{argument.text}' is read as the zone '{argument.text}.', not as a TTL")


def _is_duration(text: str) -> bool:
    try:
        return parse_duration(text) >= 0
    except ValueError:
        return False


def small_capacity(subject: Subject) -> Iterator[Remark]:
    """There are 256 parts of at least four entries."""
    for _, use in subject.uses("cache"):
        for kind in _KINDS:
            option = use.last(kind)
            if option is not None and (word := "".join(option.words[:1])).isdecimal() and int(word[:9]) < _SMALLEST:
                yield Remark(option.name, f"a capacity of {word} is taken as {_SMALLEST}")


RULES: Final = (
    Rule(
        "W101", NOTICE, "`cache` in front of own zones",
        "CoreDNS answers from memory there, so it gains nothing, and a change is seen only when the TTL has run out. "
        "Waypost drops an answer by the event that changes it.",
        "Write `disable success ZONE` and `disable denial ZONE` into the block of `cache`.",
        own_zones_cached,
    ),
    Rule(
        "W102", NOTICE, "a block that forwards has no `cache`",
        "Every question goes upstream, also the same one a thousand times a second.",
        "Add `cache 30`.",
        cache_missing,
    ),
    Rule(
        "W103", NOTICE, "`serve_stale` without `verify`",
        "The first answer after an expiry is the old one, though the upstream is well: addresses long gone come back.",
        "Write `serve_stale DURATION verify`: the upstream is asked first, and the old answer is for when it is away.",
        stale_first,
    ),
    Rule(
        "W104", WARNING, "a TTL of `cache` with a unit",
        "Only a plain number is a TTL; this is the name of a zone, and then only that zone is cached.",
        "Write the seconds alone: `cache 30`.",
        ttl_with_unit,
    ),
    Rule(
        "W105", NOTICE, "a capacity of `cache` below 1024",
        "A cache has 256 parts of at least 4 entries.",
        "Write 1024 or more.",
        small_capacity,
    ),
)  # fmt: skip
