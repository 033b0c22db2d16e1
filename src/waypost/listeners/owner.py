"""What a listener and its connections know of each other."""

from __future__ import annotations

from typing import Protocol

from waypost.dispatch.serve import Server
from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits


class Connection(Protocol):
    """One client's connection."""

    @property
    def busy(self) -> bool:
        """True if queries of it are not answered yet."""
        ...

    def finish(self) -> None:
        """Close once everything that arrived is answered."""
        ...

    def abort(self) -> None:
        """Close at once."""
        ...


class Owner(Protocol):
    """A listener. What it says may be swapped at any time. `waiting` counts queries of connections that carry many."""

    server: Server | None
    timeouts: Timeouts
    limits: Limits
    waiting: int

    def admit(self, connection: Connection) -> bool:
        """Whether the connection may live."""
        ...

    def forget(self, connection: Connection) -> None:
        """It is gone."""
        ...
