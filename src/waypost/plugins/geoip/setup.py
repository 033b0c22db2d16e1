"""geoip: say where a client is and whose network it is in, as metadata labels.

geoip DBFILE {
    edns-subnet
}
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.plugins.geoip.database import Database, DatabaseError
from waypost.plugins.geoip.handler import GeoIP
from waypost.plugins.geoip.labels import labels_of
from waypost.toolkit.extras import require


@dataclass(frozen=True, slots=True)
class Config:
    """`by_subnet`: go by the query's client subnet, if it has one."""

    path: str
    by_subnet: bool = False


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    config: Config | None = None
    for args in cursor.occurrences():
        if len(args) != 1:
            raise cursor.arg_err()
        if config is not None:
            raise cursor.err("configuring multiple databases is not supported")
        config = Config(args[0])
        while cursor.next_block():
            if cursor.value != "edns-subnet":
                raise cursor.err(f"unknown property {quote(cursor.value)}")
            config = replace(config, by_subnet=True)
    assert config is not None
    return config


def setup(directive: Directive, site: Site) -> None:
    """Open the database and add the handler. Raises CorefileError."""
    config = parse(directive)
    require("maxminddb", "geoip", "reading a database")
    last = directive.tokens[-1]
    try:
        database = Database(config.path)
    except DatabaseError as exc:
        raise CorefileError.at(last, f"failed to open database file: {exc}") from exc
    labels = labels_of(database.kind)
    if not labels:
        text = f"failed to open database file: reader does not support the {quote(database.kind)} database type"
        raise CorefileError.at(last, text)
    if site.collect is None:
        site.log.warning("the block has no metadata, which would use the labels: nothing is looked up")
    site.add(GeoIP(database, labels, site.log, by_subnet=config.by_subnet))
