"""What following a resource needs of others, and what it counts: the sink, the log, the counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from waypost.cluster.objects import Meta


class KubeObject(Protocol):
    """Any object of the API."""

    metadata: Meta


ObjectT_contra = TypeVar("ObjectT_contra", bound=KubeObject, contravariant=True)


class Sink(Protocol[ObjectT_contra]):
    """Where the objects go. Between `begin_list` and `end_list`, `changed` and `removed` may be called as well."""

    def begin_list(self) -> None:
        """A list starts. Called again without `end_list`, it starts anew."""

    def listed(self, obj: ObjectT_contra, /) -> None:
        """An object of the list: new, changed or as it was."""

    def end_list(self) -> None:
        """The list is whole: objects that were not `listed` since `begin_list` are gone."""

    def abort_list(self) -> None:
        """The list broke off: nothing is to be removed."""

    def changed(self, obj: ObjectT_contra, /) -> None:
        """An object was added or modified."""

    def removed(self, namespace: str, name: str, /) -> None:
        """An object was deleted; it may be unknown."""


class Log(Protocol):
    """Where a follower says what happens."""

    def error(self, text: str, /) -> None:
        """Something does not work."""

    def info(self, text: str, /) -> None:
        """Something works again, or is done in another way."""


@dataclass(slots=True)
class Counters:
    """What happened so far; times are of the reflector's clock, None for never."""

    lists: int = 0
    """Attempts to read the whole state, by LIST or by initial events."""
    reconnects: int = 0
    """Watches opened from a known version."""
    events: int = 0
    """Events received, bookmarks included."""
    ignored: int = 0
    """Events that were older than what is known."""
    errors: int = 0
    stale: int = 0
    """Watches given up because they were silent."""
    audits: int = 0
    """Lists under a live watch that were read to their end."""
    mended: int = 0
    """Objects that an audit found to be other than the watch had told."""
    last_event: float | None = None
    last_sync: float | None = None
    """When the whole state was last read."""
