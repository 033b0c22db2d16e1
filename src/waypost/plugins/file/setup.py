"""file: answer from zone files.

file DBFILE [ZONES...] {
    reload DURATION
    reload_by_mtime
    fallthrough [ZONES...]
}
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from waypost.corefile.args import Cursor, format_duration, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.file.handler import File, Follower, Served
from waypost.toolkit.zonefile import ZoneFileError
from waypost.toolkit.zonelist import ZoneList, fallthrough_of, zones_of
from waypost.toolkit.zonesource import ZoneSource

_RELOAD = 60.0


@dataclass(frozen=True, slots=True)
class Config:
    """One `file` line. No `zones` stands for those of the block; `reload` in seconds, 0: never."""

    path: str
    zones: tuple[str, ...] = ()
    reload: float = _RELOAD
    by_mtime: bool = False
    fall: ZoneList = field(default_factory=ZoneList)


def parse(directive: Directive) -> tuple[Config, ...]:
    """The `file` lines of a block. Raises CorefileError."""
    cursor = Cursor(directive)
    configs = []
    for args in cursor.occurrences():
        if not args:
            raise cursor.arg_err()
        config = Config(args[0], tuple(args[1:]))
        for name, values in cursor.options():
            config = _with_option(cursor, config, name, values)
        configs.append(config)
    return tuple(configs)


def _with_option(cursor: Cursor, config: Config, name: str, values: list[str]) -> Config:
    if name == "fallthrough":
        return replace(config, fall=fallthrough_of(values))
    if name == "reload":
        if not values:
            raise CorefileError.unlocated("reload duration value is expected")
        return replace(config, reload=cursor.parsed(parse_duration, values[0]))
    if name == "reload_by_mtime":
        return replace(config, by_mtime=True)
    raise cursor.err(f"unknown property '{name}'")


def setup(directive: Directive, site: Site) -> None:
    """Add one handler for all lines; the files are read at once, and followed once live."""
    zones: dict[bytes, Served] = {}
    for config in parse(directive):
        path = site.path(config.path)
        for origin in sorted(zones_of(config.zones, site.zones).zones):
            source = ZoneSource(path, origin, site.log, by_mtime=config.by_mtime)
            _read(source, config, site)
            zones[origin] = Served(source, config.fall, config.reload)
    follower = Follower(zones, site)
    site.hooks.active.append(follower.start)
    site.hooks.stop.append(follower.stop)
    site.add(File(zones))


def _read(source: ZoneSource, config: Config, site: Site) -> None:
    """A file that is not there yet is waited for, unless nobody would look again."""
    try:
        source.read()
    except OSError as exc:
        reason = f"open {source.path}: {(exc.strerror or str(exc)).lower()}"
        if config.reload <= 0:
            raise CorefileError.unlocated(reason) from exc
        site.log.warning(f"Failed to load zone file, trying again in {format_duration(config.reload)}: {reason}")
    except ZoneFileError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
