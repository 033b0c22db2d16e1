"""How many processors this process may use: those it is allowed on, and the CPU quota of its container."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Final

# cgroup v2, then v1: in a container these are its own.
_QUOTAS: Final = (
    ("/sys/fs/cgroup/cpu.max",),
    ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us"),
)


def usable_processors() -> int:
    """At least one; a part of a processor counts as one."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = (quota(texts) for files in _QUOTAS if (texts := _read(files)))
    return min(allowed, next((math.ceil(found) for found in quotas if found is not None), allowed))


def quota(words: Sequence[str]) -> float | None:
    """Processors, of quota and period in microseconds; None without a quota (`max`, -1) or for what is none."""
    try:
        allowed, period = map(int, words)
    except ValueError:
        return None
    return allowed / period if allowed > 0 and period > 0 else None


def _read(files: Sequence[str]) -> list[str]:
    """The words of files; none if one cannot be read."""
    words: list[str] = []
    for name in files:
        try:
            with open(name, encoding="ascii") as file:
                words += file.read().split()
        except (OSError, UnicodeDecodeError):
            return []
    return words
