"""auto: answer from the zone files of a directory.

auto [ZONES...] {
    directory DIR [REGEXP ORIGIN_TEMPLATE]
    reload DURATION
}
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.auto.directory import ZoneDirectory
from waypost.plugins.auto.handler import Auto, Follower
from waypost.toolkit.regexp import Regexp, compile_regexp
from waypost.toolkit.zonelist import zones_of

_PATTERN = r"db\.(.*)"
_TEMPLATE = "{1}"
_RELOAD = 60.0


@dataclass(frozen=True, slots=True)
class Config:
    """No `zones` stands for those of the block; `reload` in seconds, 0: scan only once."""

    zones: tuple[str, ...] = ()
    directory: str = ""
    pattern: Regexp = re.compile(_PATTERN)
    template: str = _TEMPLATE
    reload: float = _RELOAD


def parse(directive: Directive) -> Config:
    """Raises CorefileError. Of several `auto` in a block the last one's settings count, as in CoreDNS."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        config = replace(config, zones=tuple(args))
        for name, values in cursor.options():
            config = _with_option(cursor, config, name, values)
    return config


def _with_option(cursor: Cursor, config: Config, name: str, values: list[str]) -> Config:
    if name == "directory":
        return _with_directory(cursor, config, values)
    if name == "reload":
        if not values:
            raise CorefileError.unlocated("reload duration value is expected")
        return replace(config, reload=cursor.parsed(parse_duration, values[0]))
    raise cursor.err(f"unknown property '{name}'")


def _with_directory(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) not in (1, 3):
        raise cursor.arg_err()
    config = replace(config, directory=values[0])
    if len(values) == 1:
        return config
    try:
        return replace(config, pattern=compile_regexp(values[1]), template=values[2])
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; the directory is read at once, and followed once live."""
    config = parse(directive)
    allowed = zones_of(config.zones, site.zones)
    path = site.path(config.directory)
    directory = ZoneDirectory(path, config.pattern, config.template, allowed, site.log)
    directory.read()
    follower = Follower(directory, config.reload, site)
    site.hooks.active.append(follower.start)
    site.hooks.stop.append(follower.stop)
    site.add(Auto(directory, allowed))
