"""A zone file as a zone: read at start, and again when its SOA says that it has changed."""

from __future__ import annotations

from itertools import chain

from waypost.toolkit.zonedata import Zone, ZoneError, make_zone, serial_of
from waypost.toolkit.zonetext import ZoneTextError, read_records
from waypost.wire import consts, names


class ZoneFileError(Exception):
    """A zone file that cannot be served; the text names the file, and the line if one is at fault."""


def load_zone(path: str, origin: bytes, unless_serial: int | None = None) -> Zone | None:
    """The zone `origin` (wire form, lower case) from a file; None if its serial is `unless_serial`.

    In that case reading ends at the SOA, so that looking for a change of a large file is cheap. Raises OSError if the
    file cannot be opened, ZoneFileError for what stands in it. It takes about 0.1 ms a record.
    """
    records = read_records(path, origin)
    head = []
    try:
        for record in records:
            head.append(record)
            if record.rtype == consts.TYPE_SOA and record.owner.lower() == origin:
                if serial_of(record) == unless_serial:
                    return None
                break
        return make_zone(origin, chain(head, records))
    except ZoneTextError as exc:
        text = f'failed to parse file "{path}" for origin {names.to_text(origin)} with error {exc}'
        raise ZoneFileError(text) from exc
    except ZoneError as exc:
        raise ZoneFileError(f'file "{path}" {exc}') from exc
