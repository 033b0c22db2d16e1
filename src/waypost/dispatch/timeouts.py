"""How long a stream connection may be silent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds until the first query (`read`), for a blocked write, between queries (`idle`); queries a connection."""

    read: float = 3.0
    write: float = 5.0
    idle: float = 10.0
    max_queries: int = -1
