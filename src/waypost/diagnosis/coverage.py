"""Whether the objects that the other checks need could be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Gap, Outcome, counted, failure, ok, unknown, warning

_SHOWN: Final = 5


def judge(facts: Facts) -> Iterator[Outcome]:
    """The kinds that are missing, and the objects that do not hold what the API sends."""
    cluster = facts.objects()
    gaps = {kind.__name__: found.reason for kind, found in cluster.objects.items() if isinstance(found, Gap)}
    lines = [f"{kind}: {reason}" for kind, reason in gaps.items()]
    if cluster.problems:
        count = len(cluster.problems)
        more = [f"and {count - _SHOWN} more"] if count > _SHOWN else []
        yield warning(
            f"{counted(count, 'thing')} cannot be used",
            *cluster.problems[:_SHOWN],
            *more,
            remedy="each line names the file or request, and the field; the checks go on without them",
        )
    if gaps and len(gaps) == len(cluster.objects):
        yield failure(
            "nothing of the cluster can be read",
            *lines[:1],
            remedy="check the address, the credentials and their rights, or the folder",
        )
    elif gaps:
        yield unknown("some kinds of objects cannot be read", *lines)
    elif not cluster.problems:
        yield ok("every kind of object was read")
