"""bind: listen on these addresses instead of all.

bind ADDRESS|INTERFACE... {
    except ADDRESS|INTERFACE...
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from waypost.corefile.addresses import is_ip
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.toolkit.interfaces import interface_addresses
from waypost.wire import addr


@dataclass(frozen=True, slots=True)
class Line:
    """One occurrence: addresses or interface names, and those to leave out of them."""

    names: tuple[str, ...]
    excepted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """Occurrences add up."""

    lines: tuple[Line, ...]


def parse(directive: Directive) -> Config:
    """Raises CorefileError; whether a name is an interface of this machine is not looked at."""
    cursor = Cursor(directive)
    lines = []
    for names in cursor.occurrences():
        if not names:
            raise CorefileError.unlocated("at least one address or interface name is expected")
        excepted: list[str] = []
        for option, args in cursor.options():
            if option != "except":
                raise CorefileError.unlocated(f"invalid option {quote(option)}")
            if not args:
                text = "at least one address or interface must be given to except subdirective"
                raise CorefileError.unlocated(text)
            excepted += args
        lines.append(Line(tuple(names), tuple(excepted)))
    return Config(tuple(lines))


def setup(directive: Directive, site: Site) -> None:
    """Set the block's listen addresses; interfaces are those of this moment."""
    site.bind.extend(listen_addresses(parse(directive), interface_addresses))


def listen_addresses(config: Config, interfaces: Callable[[], Mapping[str, list[str]]]) -> list[str]:
    """The addresses to listen on, in the order written. `interfaces` gives the addresses by interface name.

    Raises CorefileError for a name that is neither, and if none is left: an empty list would mean every address.
    """
    out = []
    for line in config.lines:
        excepted = set(_addresses(line.excepted, interfaces))
        out += [address for address in _addresses(line.names, interfaces) if address not in excepted]
    if not out:
        raise CorefileError.unlocated("every address is excepted, there is nothing to listen on")
    return out


def _addresses(names: Iterable[str], interfaces: Callable[[], Mapping[str, list[str]]]) -> list[str]:
    out = []
    for name in names:
        packed = addr.pack(name) if is_ip(name) else None
        found = [addr.unpack(packed)] if packed is not None else interfaces().get(name)
        if found is None:
            raise CorefileError.unlocated(f"not a valid IP address or interface name: {quote(name)}")
        out += found
    return out
