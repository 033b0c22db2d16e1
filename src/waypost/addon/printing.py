"""Objects to YAML: fields in the order in which they were built, long texts as they are read, one document each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import yaml

from waypost.addon.settings import Json

_WIDE: Final = 4096


class _Dumper(yaml.SafeDumper):
    """Without aliases: equal parts of an object are written out each time."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(value: Any) -> str:
    """One value as YAML."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, width=_WIDE, allow_unicode=True)


def documents(objects: Iterable[Json]) -> str:
    """A stream of documents for `kubectl apply -f -`."""
    return "---\n".join(map(to_yaml, objects))
