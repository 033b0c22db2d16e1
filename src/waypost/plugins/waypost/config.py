"""What a `waypost` directive says, and how it is read.

waypost {
    admin [ADDR]
    ready_max_age DURATION
    max_udp_size BYTES
}
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from waypost.corefile.addresses import is_ip, split_host_port
from waypost.corefile.args import Cursor, parse_duration, parse_int
from waypost.corefile.model import Directive
from waypost.httpd.server import check_address

DEFAULT_ADMIN: Final = "127.0.0.1:9253"
# API servers send a bookmark a minute to each watch: less than two of them would be a matter of luck.
_SIGN_OF_LIFE: Final = 120.0
# What every client can take (RFC 1035 section 4.2.1), and the most that is in use (RFC 6891 section 6.2.5).
_SMALLEST, _LARGEST = 512, 4096


@dataclass(frozen=True, slots=True)
class Config:
    """The whole directive: an address to listen on, seconds, and bytes; empty and 0 are off."""

    admin: str = ""
    ready_max_age: float = 0.0
    max_udp_size: int = 0

    @property
    def warnings(self) -> list[str]:
        """What is accepted, but may not be meant."""
        texts = []
        if self.admin and not _is_loopback(split_host_port(self.admin)[0]):
            texts.append(f"admin {self.admin} is not protected: whoever can reach it can read and flush the caches")
        if 0 < self.ready_max_age < _SIGN_OF_LIFE:
            texts.append("ready_max_age below 2m: a quiet API server gives a sign of life about once a minute")
        return texts


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for number, args in enumerate(cursor.occurrences()):
        if number:
            raise cursor.err("this plugin can only be used once per Server Block")
        if args:
            raise cursor.arg_err()
        for name, values in cursor.options():
            read = _OPTIONS.get(name)
            if read is None:
                raise cursor.err(f"unknown property '{name}', expected one of: {', '.join(_OPTIONS)}")
            config = read(cursor, config, values)
    if config == Config():
        raise cursor.err(f"nothing is asked for, expected one of: {', '.join(_OPTIONS)}")
    return config


def _admin(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) > 1:
        raise cursor.arg_err()
    return replace(config, admin=cursor.parsed(check_address, values[0]) if values else DEFAULT_ADMIN)


def _ready_max_age(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.arg_err()
    seconds = cursor.parsed(parse_duration, values[0])
    if seconds <= 0:
        raise cursor.err(f"ready_max_age must be positive: {values[0]}")
    return replace(config, ready_max_age=seconds)


def _max_udp_size(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.arg_err()
    size = cursor.parsed(parse_int, values[0])
    if not _SMALLEST <= size <= _LARGEST:
        raise cursor.err(f"max_udp_size must be from {_SMALLEST} to {_LARGEST}: {values[0]}")
    return replace(config, max_udp_size=size)


_OPTIONS: dict[str, Callable[[Cursor, Config, list[str]], Config]] = {
    "admin": _admin,
    "ready_max_age": _ready_max_age,
    "max_udp_size": _max_udp_size,
}


def _is_loopback(host: str) -> bool:
    return host == "localhost" or (is_ip(host) and ipaddress.ip_address(host).is_loopback)
