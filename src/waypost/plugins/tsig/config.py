"""What a Corefile says of tsig.

tsig [ZONES...] {
    secret NAME KEY
    secrets FILE
    require all|none|QTYPE...
    require_opcode all|none|OPCODE...
}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.corefile.zones import normalize_name
from waypost.wire import consts

_OPCODES: Final = {"QUERY": 0, "IQUERY": 1, "STATUS": 2, "NOTIFY": 4, "UPDATE": 5}
_WORD: Final = re.compile(r'//[^\n]*|\#[^\n]*|/\*.*?\*/|"([^"]*)"|([{};])|([^\s"{};]+)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Config:
    """Keys by absolute name in lower case, in base64; None for `types` or `opcodes` demands signatures for all."""

    zones: tuple[str, ...] = ()
    secrets: dict[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    types: frozenset[int] | None = frozenset()
    opcodes: frozenset[int] | None = frozenset()


def parse(directive: Directive) -> Config:
    """Of several occurrences the zones of the last one count. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for zones in cursor.occurrences():
        config = replace(config, zones=tuple(zones))
        for name, values in cursor.options():
            option = _OPTIONS.get(name)
            if option is None:
                raise cursor.err(f"unknown property '{name}'")
            config = option(cursor, config, values)
    return config


def with_keys(secrets: dict[str, str], text: str) -> dict[str, str]:
    """Add the keys of a file in BIND's form: `key "NAME" { algorithm A; secret "KEY"; };`. Raises ValueError."""
    secrets = dict(secrets)
    words = _words(text)
    for word in words:
        if word == ";":
            continue
        if word != "key":
            raise ValueError(f"unexpected token {quote(word)}")
        name = normalize_name(next(words, ""))
        if name in (".", "{."):
            raise ValueError('expected key name after "key"')
        if name in secrets:
            raise ValueError(f"key {quote(name)} redefined")
        secret = _secret(words)
        if not secret:
            raise ValueError(f"expected secret for key {quote(name)}")
        secrets[name] = secret
    return secrets


def _secret(words: Iterator[str]) -> str:
    """The secret in the braces of one key; the algorithm is the client's choice."""
    secret = ""
    if next(words, "") != "{":
        raise ValueError('expected "{" behind the name of a key')
    for word in words:
        if word == "}":
            return secret
        if word not in ("algorithm", "secret"):
            raise ValueError(f"unexpected token {quote(word)}")
        value, end = next(words, ""), next(words, "")
        if end != ";":
            raise ValueError(f'expected ";" behind {quote(word)}')
        if word == "secret":
            secret = value
    raise ValueError('expected "}" at the end of a key')


def _words(text: str) -> Iterator[str]:
    for found in _WORD.finditer(text):
        word = found[1] or found[2] or found[3]
        if word:
            yield word


def _with_secret(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 2:
        raise cursor.arg_err()
    name = normalize_name(values[0])
    if name in config.secrets:
        raise CorefileError.unlocated(f"key {quote(name)} redefined")
    return replace(config, secrets={**config.secrets, name: values[1]})


def _with_file(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if len(values) != 1:
        raise cursor.arg_err()
    return replace(config, files=(*config.files, values[0]))


def _requiring_types(cursor: Cursor, config: Config, values: list[str]) -> Config:
    return replace(config, types=_numbers(cursor, values, consts.type_number))


def _requiring_opcodes(cursor: Cursor, config: Config, values: list[str]) -> Config:
    return replace(config, opcodes=_numbers(cursor, values, _OPCODES.get))


def _numbers(cursor: Cursor, values: list[str], number_of: Callable[[str], int | None]) -> frozenset[int] | None:
    if not values:
        raise cursor.arg_err()
    if values[0] in ("all", "none"):
        return None if values[0] == "all" else frozenset()
    numbers = set()
    for value in values:
        number = number_of(value)
        if number is None:
            raise cursor.arg_err()
        numbers.add(number)
    return frozenset(numbers)


_OPTIONS: Final[dict[str, Callable[[Cursor, Config, list[str]], Config]]] = {
    "secret": _with_secret,
    "secrets": _with_file,
    "require": _requiring_types,
    "require_opcode": _requiring_opcodes,
}
