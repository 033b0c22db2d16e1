"""hosts: answer from a file in the form of /etc/hosts and from lines in the Corefile.

hosts [FILE [ZONES...]] {
    ADDRESS NAME...
    ttl SECONDS
    no_reverse
    reload DURATION
    fallthrough [ZONES...]
    fallthrough_unsupported
}
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from waypost.corefile.args import Cursor, parse_duration, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.log import Log
from waypost.plugins.hosts.handler import Hosts
from waypost.plugins.hosts.source import HostsFile
from waypost.toolkit.zonelist import ZoneList, fallthrough_of, zones_of

DEFAULT_FILE: Final = "/etc/hosts"
_MAX_TTL: Final = 65535


@dataclass(frozen=True, slots=True)
class Config:
    """No `file` stands for the default one, no `zones` for those of the block; `ttl` and `reload` in seconds."""

    file: str = ""
    zones: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()
    ttl: int = 3600
    reverse: bool = True
    reload: float = 5.0
    fall: ZoneList = field(default_factory=ZoneList)
    fall_unsupported: bool = False


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    configs = list(_occurrences(cursor))
    config = configs[0]
    if config.fall_unsupported and not config.fall.zones:
        raise cursor.err("fallthrough_unsupported requires fallthrough")
    return config


def _occurrences(cursor: Cursor) -> Iterator[Config]:
    for count, args in enumerate(cursor.occurrences()):
        if count:
            raise CorefileError.unlocated("this plugin can only be used once per Server Block")
        config = Config(args[0] if args else "", tuple(args[1:]))
        for name, values in cursor.options():
            config = _with_option(cursor, config, name, values)
        yield config


def _with_option(cursor: Cursor, config: Config, name: str, values: list[str]) -> Config:
    if name == "fallthrough":
        return replace(config, fall=fallthrough_of(values))
    if name == "fallthrough_unsupported":
        if values:
            raise cursor.arg_err()
        return replace(config, fall_unsupported=True)
    if name == "no_reverse":
        return replace(config, reverse=False)
    if name == "ttl":
        return replace(config, ttl=_ttl(cursor, values))
    if name == "reload":
        return replace(config, reload=_interval(cursor, values))
    if config.fall.zones:
        raise cursor.err(f"unknown property '{name}'")
    return replace(config, inline=(*config.inline, " ".join((name, *values))))


def _ttl(cursor: Cursor, values: list[str]) -> int:
    if not values:
        raise cursor.err("ttl needs a time in second")
    try:
        ttl = parse_int(values[0])
    except ValueError:
        raise cursor.err("ttl needs a number of second") from None
    if not 0 < ttl <= _MAX_TTL:
        raise cursor.err("ttl provided is invalid")
    return ttl


def _interval(cursor: Cursor, values: list[str]) -> float:
    if len(values) != 1:
        raise cursor.err("reload needs a duration (zero seconds to disable)")
    try:
        seconds = parse_duration(values[0])
    except ValueError:
        raise cursor.err(f"invalid duration for reload '{values[0]}'") from None
    if seconds < 0:
        raise cursor.err(f"invalid negative duration for reload '{values[0]}'")
    return seconds


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; the file is read at once and then followed from start on."""
    config = parse(directive)
    log = site.log
    path = site.path(config.file) if config.file else DEFAULT_FILE
    if config.file:
        _check_file(path, log, directive)
    zones = zones_of(config.zones, site.zones)
    source = HostsFile(path, config.inline, zones, reverse=config.reverse, log=log, metrics=site.metrics)
    source.read()
    if config.reload > 0:
        site.hooks.start.append(lambda: source.follow(config.reload))
        site.hooks.stop.append(source.stop)
    site.add(Hosts(source, zones, config.ttl, config.fall, config.fall if config.fall_unsupported else ZoneList()))


def _check_file(path: str, log: Log, directive: Directive) -> None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        log.warning(f"File does not exist: {path}")
    except (OSError, ValueError) as exc:
        text = f"unable to access hosts file '{path}': {exc}"
        raise CorefileError.at(directive.tokens[0], text) from exc
    else:
        if stat.S_ISDIR(status.st_mode):
            log.warning(f'Hosts file "{path}" is a directory')
