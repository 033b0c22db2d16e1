"""Which directives there are, in which order, and where their plugins come from: built in, or added by packages.

A package adds a plugin by an entry point in the group `waypost.plugins`, named as the directive and leading to a module
(or any object) with `setup(directive, site)`, and `BEFORE` or `AFTER`: the known directive that it stands next to.
This is the one place where plugins are imported, by name, so that one that nobody uses costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Protocol, cast

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.order import ORDER

GROUP = "waypost.plugins"
NOT_INCLUDED: Mapping[str, str] = {
    "azure": "ask for zones of Azure DNS with forward, or serve an export of them with file",
    "clouddns": "ask for zones of Google Cloud DNS with forward, or serve an export of them with file",
}
"""Directives of CoreDNS that Waypost leaves out on purpose, and what to write in their place."""


class Plugin(Protocol):
    """A plugin module."""

    def setup(self, directive: Directive, site: Site) -> None:
        """Read the directive and put handlers, settings and hooks into the block. Raises CorefileError."""
        ...


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The order of all directives, and the plugins that packages added."""

    order: tuple[str, ...] = ORDER
    added: Mapping[str, Plugin] = field(default_factory=dict)

    def load(self, name: str) -> Plugin | None:
        """The plugin of a directive; None if this version has none."""
        added = self.added.get(name)
        return added if added is not None else load_plugin(name)


def load_plugin(name: str) -> Plugin | None:
    """The module of a built-in directive, None if this version has none."""
    path = f"waypost.plugins.{name}"
    try:
        module: ModuleType = importlib.import_module(path)
    except ModuleNotFoundError as exc:
        if exc.name == path:
            return None
        raise
    return cast(Plugin, module)


def absent(name: str) -> str:
    """What to say of a known directive that this version does not have."""
    instead = NOT_INCLUDED.get(name)
    if instead is None:
        return f"directive '{name}' is not supported yet"
    return f"directive '{name}' is not included: {instead}"


def installed() -> Catalogue:
    """The built-in plugins and those of installed packages. Raises CorefileError for a package that does not fit in."""
    return extend(entry_points(group=GROUP))


def extend(points: Iterable[EntryPoint]) -> Catalogue:
    """The built-in order with added plugins in it, in the order of their names. Raises CorefileError."""
    order = list(ORDER)
    added: dict[str, Plugin] = {}
    for point in sorted(points, key=lambda point: point.name):
        if point.name in order:
            raise _unfit(point, f"the directive '{point.name}' is there already")
        try:
            plugin = point.load()
        except Exception as exc:
            raise _unfit(point, f"{type(exc).__name__}: {exc}") from exc
        if not callable(getattr(plugin, "setup", None)):
            raise _unfit(point, "it has no function setup(directive, site)")
        order.insert(_place(point, plugin, order), point.name)
        added[point.name] = cast(Plugin, plugin)
    return Catalogue(tuple(order), added)


def _place(point: EntryPoint, plugin: object, order: list[str]) -> int:
    """Where in the order an added plugin stands."""
    for attribute, offset in (("BEFORE", 0), ("AFTER", 1)):
        neighbour = getattr(plugin, attribute, None)
        if neighbour is not None:
            if neighbour not in order:
                raise _unfit(point, f"{attribute} = '{neighbour}': expected the name of a directive")
            return order.index(neighbour) + offset
    raise _unfit(point, "expected BEFORE or AFTER, naming the directive that it stands next to")


def _unfit(point: EntryPoint, reason: str) -> CorefileError:
    package = point.dist.name if point.dist is not None else point.value
    return CorefileError.unlocated(f"plugin '{point.name}' of package {package} cannot be used: {reason}")
