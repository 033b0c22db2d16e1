"""The words of a grpc directive as a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.corefile.zones import zones_of_argument
from waypost.toolkit.resolvconf import name_servers
from waypost.toolkit.upstream_address import HTTPS, UpstreamAddress, parse_upstream
from waypost.toolkit.zonelist import ZoneList, fallthrough_of, wire_zones
from waypost.wire import names

_MAX_UPSTREAMS: Final = 15
_SCHEME: Final = "grpc"
_PREFIX: Final = "grpc://"
_POLICIES: Final = ("random", "round_robin", "sequential")


@dataclass(frozen=True, slots=True)
class Config:
    """Zones are in wire form, lower case. `tls` holds file names as written; None is clear text."""

    origin: bytes
    to: tuple[UpstreamAddress, ...]
    excluded: tuple[bytes, ...] = ()
    tls: tuple[str, ...] | None = None
    tls_servername: str = ""
    policy: str = "random"
    fall: ZoneList = ZoneList()  # noqa: RUF009  # it is frozen


Draft = dict[str, Any]


def parse(directive: Directive) -> Config:
    """The one grpc line of a block; files with name servers are read. Raises CorefileError."""
    cursor = Cursor(directive)
    config: Config | None = None
    for args in cursor.occurrences():
        if config is not None:
            raise CorefileError.unlocated("this plugin can only be used once per Server Block")
        if len(args) < 2:
            raise cursor.arg_err()
        zones = zones_of_argument(args[0])
        if not zones:
            raise CorefileError.unlocated(f"unable to normalize '{args[0]}'")
        draft: Draft = {"origin": names.from_text(zones[0]), "to": _upstreams(args[1:])}
        for name, values in cursor.options():
            option = _OPTIONS.get(name)
            if option is None:
                raise cursor.err(f"unknown property '{name}'")
            option(draft, cursor, values)
        config = Config(**draft)
        if len(config.to) > _MAX_UPSTREAMS:
            raise CorefileError.unlocated(f"more than {_MAX_UPSTREAMS} TOs configured: {len(config.to)}")
    assert config is not None
    return config


def _upstreams(texts: Sequence[str]) -> tuple[UpstreamAddress, ...]:
    return tuple(address for text in texts for address in _addresses(text))


def _addresses(text: str) -> list[UpstreamAddress]:
    """An address, or those in a file in the format of resolv.conf; port 53 unless `grpc://` is written."""
    bare = text.removeprefix(_PREFIX)
    # The port of `https://`, and a name to expect in the certificate as it can be written there.
    written = f"{HTTPS}://{bare}" if bare != text else bare
    try:
        address = None if "://" in bare else parse_upstream(written, _SCHEME)
    except ValueError as exc:
        raise CorefileError.unlocated(f"expected grpc://IP[:PORT], got {quote(text)}") from exc
    if address is not None:
        return [replace(address, scheme=_SCHEME)]
    try:
        with open(text, encoding="utf-8", errors="replace") as file:
            found = name_servers(file.read())
    except (OSError, ValueError) as exc:
        raise CorefileError.unlocated(f"not an IP address or file: {quote(text)}") from exc
    listed = [parse_upstream(name, _SCHEME) for name in found if "://" not in name]
    if not any(listed):
        raise CorefileError.unlocated("no nameservers found")
    return [replace(each, scheme=_SCHEME) for each in listed if each is not None]


def _except(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    draft["excluded"] = (*draft.get("excluded", ()), *wire_zones(values))


def _tls(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if len(values) > 3:
        raise cursor.arg_err()
    draft["tls"] = tuple(values)


def _tls_servername(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if len(values) != 1:
        raise cursor.arg_err()
    draft["tls_servername"] = values[0]
    draft.setdefault("tls", ())


def _policy(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    if len(values) != 1:
        raise cursor.arg_err()
    if values[0] not in _POLICIES:
        raise cursor.err(f"unknown policy '{values[0]}'")
    draft["policy"] = values[0]


def _fallthrough(draft: Draft, cursor: Cursor, values: list[str]) -> None:
    draft["fall"] = fallthrough_of(values)


_OPTIONS: dict[str, Callable[[Draft, Cursor, list[str]], None]] = {
    "except": _except,
    "tls": _tls,
    "tls_servername": _tls_servername,
    "policy": _policy,
    "fallthrough": _fallthrough,
}
