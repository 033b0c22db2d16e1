"""What a Corefile says of dnssec.

dnssec [ZONES...] {
    key file KEY...
    cache_capacity CAPACITY
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.corefile.values import parse_int

_DEFAULT_CAPACITY = 10_000


@dataclass(frozen=True, slots=True)
class Config:
    """`keys` are file names without `.key` and `.private`; `capacity` is how many signatures are kept."""

    zones: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    capacity: int = _DEFAULT_CAPACITY


def parse(directive: Directive) -> Config:
    """Of several occurrences the zones of the last one count. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for zones in cursor.occurrences():
        config = replace(config, zones=tuple(zones))
        for name, values in cursor.options():
            if name == "key":
                config = replace(config, keys=(*config.keys, *_keys(cursor, values)))
            elif name == "cache_capacity":
                if not values:
                    raise cursor.arg_err()
                capacity = cursor.parsed(parse_int, values[0])
                if capacity < 1:
                    raise cursor.err(f"cache_capacity must be at least 1, got {capacity}")
                config = replace(config, capacity=capacity)
            else:
                raise cursor.err(f"unknown property '{name}'")
    return config


def _keys(cursor: Cursor, values: list[str]) -> list[str]:
    if not values:
        raise cursor.arg_err()
    source, *files = values
    if source == "aws_secretsmanager":
        raise cursor.err("keys from AWS Secrets Manager are not supported: write them to files and use 'key file'")
    if source != "file":
        raise cursor.err(f"unknown property '{files[0] if files else source}'")
    if not files:
        raise cursor.arg_err()
    return [name.removesuffix(".key").removesuffix(".private") for name in files]
