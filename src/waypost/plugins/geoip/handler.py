"""Clients to metadata labels. The database is asked once a query, and only if somebody reads a label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.log import Log
from waypost.plugins.geoip.database import Database, DatabaseError
from waypost.plugins.geoip.labels import Value
from waypost.wire import addr
from waypost.wire.query import Query

_CLIENT_SUBNET: Final = 8
_SIZES: Final = {1: 4, 2: 16}
_NOBODY: Final = ""


class GeoIP:
    """Knows labels of a query's client; queries only pass."""

    __slots__ = ("_by_subnet", "_database", "_labels", "_log", "name", "next")

    next: Handler

    def __init__(self, database: Database, labels: Mapping[str, Value], log: Log, *, by_subnet: bool) -> None:
        self.name = "geoip"
        self._database = database
        self._labels = tuple(labels.items())
        self._log = log
        self._by_subnet = by_subnet

    def metadata(self, request: Request) -> Iterable[tuple[str, Callable[[], str]]]:
        """Every label of the database's schema, empty where it has nothing to say."""
        address = client_subnet(request.query) if self._by_subnet else None
        place = Place(self._look_up, request.client_ip if address is None else address)
        return [(label, partial(place.value, value)) for label, value in self._labels]

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        return self.next.serve(request)

    def _look_up(self, address: str) -> object:
        if not address:
            return None
        try:
            return self._database.look_up(address)
        except DatabaseError as exc:
            self._log.once_a_burst(self._log.warning, f"database lookup failed: {exc}")
            return None


class Place:
    """What the database has on one address, looked up when it is needed first."""

    __slots__ = ("_address", "_known", "_look_up", "_record")

    def __init__(self, look_up: Callable[[str], object], address: str) -> None:
        self._look_up = look_up
        self._address = address
        self._known = False
        self._record: object = None

    def value(self, value: Value) -> str:
        """The value of a label."""
        if not self._known:
            self._record = self._look_up(self._address)
            self._known = True
        return value(self._record)


def client_subnet(query: Query) -> str | None:
    """The address in a query's client subnet option (RFC 7871 section 6), bits behind its prefix zero.

    None without the option; empty if it says that the client's network shall not matter (section 7.1.2).
    """
    for code, data in query.opt.options if query.opt is not None else ():
        if code == _CLIENT_SUBNET:
            size = _SIZES.get(int.from_bytes(data[:2], "big"))
            if size is None or not data[2]:
                return _NOBODY
            return addr.unpack(data[4 : 4 + size].ljust(size, b"\0"))
    return None
