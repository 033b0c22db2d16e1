"""The `log` directive to rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.corefile.zones import normalize_name
from waypost.dispatch.site import Site
from waypost.plugins.log.handler import Log, Rule
from waypost.plugins.log.lines import Lines
from waypost.toolkit.replacer import COMMON, compile_format
from waypost.wire import names
from waypost.wire.errors import BadName

CLASSES: Final = ("all", "success", "denial", "error")


@dataclass(frozen=True, slots=True)
class RuleConfig:
    """Queries for names at or below `zone` are logged in `format` if their class is in `classes`; empty: all."""

    zone: str = "."
    format: str = COMMON
    classes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Config:
    """The first rule whose zone holds the name decides."""

    rules: tuple[RuleConfig, ...]


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    rules: list[RuleConfig] = []
    for args in cursor.occurrences():
        template = COMMON
        if len(args) > 1 and "{" in args[-1]:
            template = args.pop()
        classes: set[str] = set()
        for option, values in cursor.options():
            if option != "class":
                raise cursor.err(f"unknown property '{option}'")
            if not values:
                raise cursor.arg_err()
            for value in values:
                if value not in CLASSES:
                    raise cursor.err(f"invalid Class: {value}")
            classes.update(values)
        wanted = frozenset(() if "all" in classes else classes)
        rules += [RuleConfig(normalize_name(name), template, wanted) for name in args or ["."]]
    return Config(tuple(rules))


def setup(directive: Directive, site: Site) -> None:
    """Add the handler. A name that no query can have is pointed out."""
    rules = []
    for config in parse(directive).rules:
        try:
            zone = names.from_text(config.zone)
        except BadName as exc:
            site.log.warning(f"nothing will be logged for '{config.zone}': {exc}")
            continue
        rules.append(Rule(zone, compile_format(config.format), config.classes))
    lines = site.services.lender.lend("log lines", lambda: Lines(site.services.log))
    site.hooks.stop.append(lines.flush)
    site.add(Log(rules, lines.add))
