"""MaxMind DB files, written by a program that has nothing to do with the one that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmdb_writer import MMDBWriter
from netaddr import IPSet

CAMBRIDGE: dict[str, Any] = {
    "city": {"names": {"en": "Cambridge", "fr": "Cambridge (FR)"}},
    "continent": {"code": "EU", "names": {"en": "Europe"}},
    "country": {"iso_code": "GB", "names": {"en": "United Kingdom"}, "is_in_european_union": False},
    "location": {"latitude": 52.2242, "longitude": 0.1315, "time_zone": "Europe/London"},
    "postal": {"code": "CB4"},
    "subdivisions": [{"iso_code": "ENG"}, {"iso_code": "CAM"}],
}
CLOUD: dict[str, Any] = {"autonomous_system_number": 396982, "autonomous_system_organization": "EXAMPLE-CLOUD"}


def write_database(
    path: Path, kind: str = "GeoLite2-City", records: Mapping[str, Any] | None = None, *, ip_version: int = 6
) -> Path:
    """A database of type `kind` with records by network; by default Cambridge is 192.0.2.0/24 and 2001:db8::/32."""
    if records is None:
        records = {"192.0.2.0/24": CAMBRIDGE, "2001:db8::/32": CAMBRIDGE}
    writer = MMDBWriter(ip_version, kind, ipv4_compatible=ip_version == 6)
    for network, record in records.items():
        writer.insert_network(IPSet([network]), record)
    writer.to_db_file(str(path))
    return path
