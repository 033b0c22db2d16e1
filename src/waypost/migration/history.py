"""What changed in Corefiles from one release of CoreDNS to the next, and what to do about it.

Only what cannot stay as it is, or what its makers advise to add. Everything else of an old Corefile means today what
it meant then.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from waypost.migration import steps
from waypost.migration.steps import Draft


class Kind(Enum):
    """Why a step is taken."""

    REMOVED = "removed"
    RENAMED = "renamed"
    ADVISED = "advised"


class Step(NamedTuple):
    """A change that came with a release."""

    version: tuple[int, ...]
    kind: Kind
    what: str
    take: Callable[[Draft], None]


OLDEST: Final = (1, 0, 0)
HISTORY: Final = (
    Step((1, 2, 1), Kind.ADVISED, "loop where something is forwarded", steps.add_loop),
    Step((1, 4, 0), Kind.REMOVED, "all but the first address of kubernetes' endpoint", steps.keep_first_endpoint),
    Step((1, 5, 0), Kind.RENAMED, "proxy of a zone is a server block", steps.split_proxy),
    Step((1, 5, 0), Kind.RENAMED, "proxy is forward", steps.proxy_to_forward),
    Step((1, 5, 0), Kind.ADVISED, "ready where there is kubernetes", steps.add_ready),
    Step((1, 6, 5), Kind.ADVISED, "lameduck 5s of health", steps.add_lameduck),
    Step((1, 7, 0), Kind.REMOVED, "upstream of kubernetes", steps.remove_upstream),
    Step((1, 7, 0), Kind.REMOVED, "resyncperiod of kubernetes", steps.remove_resyncperiod),
    Step((1, 7, 0), Kind.REMOVED, "federation", steps.remove_federation),
    Step((1, 7, 0), Kind.ADVISED, "max_concurrent 1000 of forward", steps.add_max_concurrent),
    Step((1, 8, 0), Kind.RENAMED, "transfer of kubernetes is the directive transfer", steps.move_transfer),
)
"""In order of the releases. The versions of removals are those from which on a Corefile with it no longer starts."""


def parse_version(text: str) -> tuple[int, ...]:
    """`1.6.5` or `v1.6.5`, whatever follows a dash left out. Raises ValueError."""
    parts = text.removeprefix("v").partition("-")[0].split(".")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() and len(part) <= 4 for part in parts):
        raise ValueError(f"expected a version of CoreDNS such as 1.6.5, got '{text}'")
    return tuple(map(int, parts))


def steps_between(older: tuple[int, ...], newer: tuple[int, ...] | None, *, advised: bool) -> list[Step]:
    """Steps that came after one version and up to another (None is today), with or without advised ones."""
    return [
        step
        for step in HISTORY
        if step.version > older
        and (newer is None or step.version <= newer)
        and (advised or step.kind is not Kind.ADVISED)
    ]
