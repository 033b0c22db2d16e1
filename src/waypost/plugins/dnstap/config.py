"""The `dnstap` directive to what it says: a tap for each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.model import Directive
from waypost.corefile.values import parse_int
from waypost.plugins.dnstap.place import Place, parse_place

_MAX_BUFFER: Final = 1024
_MAX_QUEUE: Final = 4096
_FULL: Final = "full"


@dataclass(frozen=True, slots=True)
class Config:
    """One tap. With `listen` receivers connect to us, else we connect to one.

    `full` includes messages. `buffer` is in MiB, `queue` in ten thousands of messages. `identity` and `version` are
    None unless given. `tls` are the names of certificate, key and perhaps CA of a listening one. `ignored` are words
    that CoreDNS takes and that say nothing.
    """

    place: Place
    listen: bool = False
    full: bool = False
    buffer: int = 1
    queue: int = 1
    identity: str | None = None
    version: str | None = None
    extra: str = ""
    skip_verify: bool = False
    tls: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def parse(directive: Directive) -> tuple[Config, ...]:
    """A tap for each line. Raises CorefileError."""
    cursor = Cursor(directive)
    return tuple(_tap(cursor, args) for args in cursor.occurrences())


def _tap(cursor: Cursor, args: list[str]) -> Config:
    if not args:
        raise cursor.arg_err()
    listen = args[0] == "listen"
    if listen:
        args = args[1:]
        if not args:
            raise cursor.err("dnstap listen requires an endpoint argument")
    words, numbers = args[1:2], args[2:4]
    config = Config(
        parse_place(args[0]),
        listen,
        words == [_FULL],
        _multiple(cursor, "MultipleTcpWriteBuf", numbers[0], _MAX_BUFFER, "MiB units") if numbers else 1,
        _multiple(cursor, "MultipleQueue", numbers[1], _MAX_QUEUE, "x10k messages") if len(numbers) > 1 else 1,
        ignored=(*(word for word in words if word != _FULL), *args[4:]),
    )
    # Step by step as CoreDNS does: what an option leaves of its line is taken for the next one.
    while cursor.next_block():
        read = _OPTIONS.get(cursor.value)
        if read is None:
            raise cursor.err(f"unknown property '{cursor.value}'")
        config = read(cursor, config)
    return config


def _multiple(cursor: Cursor, name: str, text: str, most: int, unit: str) -> int:
    try:
        value = parse_int(text)
    except ValueError as exc:
        raise cursor.err(f'dnstap: invalid {name} "{text}": {exc}') from exc
    if not 1 <= value <= most:
        raise cursor.err(f"dnstap: {name} must be between 1 and {most} ({unit}): {value}")
    return value


def _value(cursor: Cursor) -> str:
    if not cursor.next_arg():
        raise cursor.arg_err()
    return cursor.value


def _tls(cursor: Cursor, config: Config) -> Config:
    if not config.listen:
        raise cursor.err("tls directive only valid for listeners")
    names = cursor.remaining_args()
    if len(names) < 2:
        raise cursor.err("tls requires cert and key file paths")
    return replace(config, tls=tuple(names[:3]), ignored=(*config.ignored, *names[3:]))


_OPTIONS: Final[Mapping[str, Callable[[Cursor, Config], Config]]] = {
    "skipverify": lambda cursor, config: replace(config, skip_verify=True),
    "identity": lambda cursor, config: replace(config, identity=_value(cursor)),
    "version": lambda cursor, config: replace(config, version=_value(cursor)),
    "extra": lambda cursor, config: replace(config, extra=_value(cursor)),
    "tls": _tls,
}
