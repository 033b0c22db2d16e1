"""What a Corefile says of sign.

sign DBFILE [ZONES...] {
    key file KEY...
    key directory DIR...
    directory DIR
}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote

_DEFAULT_DIRECTORY: Final = "/var/lib/coredns"


@dataclass(frozen=True, slots=True)
class Config:
    """One `sign` line. No `zones` stands for those of the block; `keys` are file names without suffix."""

    path: str
    zones: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    key_directories: tuple[str, ...] = ()
    directory: str = _DEFAULT_DIRECTORY


def parse(directive: Directive) -> tuple[Config, ...]:
    """The `sign` lines of a block. Raises CorefileError."""
    cursor = Cursor(directive)
    return tuple(_occurrences(cursor))


def _occurrences(cursor: Cursor) -> Iterator[Config]:
    for args in cursor.occurrences():
        if not args:
            raise cursor.arg_err()
        path, *zones = args
        if "\N{REPLACEMENT CHARACTER}" in path:
            raise CorefileError.unlocated(f"dbfile {quote(path)} contains invalid characters")
        config = Config(path, tuple(zones))
        for name, values in cursor.options():
            config = _with_option(cursor, config, name, values)
        yield config


def _with_option(cursor: Cursor, config: Config, name: str, values: list[str]) -> Config:
    if name == "key":
        return _with_keys(cursor, config, values)
    if name == "directory":
        if len(values) != 1:
            raise CorefileError.unlocated('can only be one argument after "directory"')
        return replace(config, directory=values[0])
    raise cursor.err(f"unknown property '{name}'")


def _with_keys(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) < 2:
        raise cursor.arg_err()
    source, *names = values
    if source == "file":
        bases = tuple(name.removesuffix(".key").removesuffix(".private") for name in names)
        return replace(config, keys=config.keys + bases)
    if source == "directory":
        return replace(config, key_directories=config.key_directories + tuple(names))
    raise cursor.err(f"unknown property '{names[0]}'")
