"""What a database record says, as metadata labels: the City and the ASN schema of MaxMind's GeoIP2 databases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

Value = Callable[[object], str]
"""A database record, of whatever form it may be, to the value of a label; empty if the record does not say."""


def field(record: object, *path: str) -> object:
    """The value under these keys, one in the other; None if there is none."""
    for key in path:
        record = record.get(key) if isinstance(record, Mapping) else None
    return record


def _text(*path: str) -> Value:
    def value(record: object) -> str:
        found = field(record, *path)
        return found if isinstance(found, str) else ""

    return value


def _decimal(*path: str) -> Value:
    """A number with as many digits as tell it from others, never with an exponent."""

    def value(record: object) -> str:
        found = field(record, *path)
        if isinstance(found, bool) or not isinstance(found, int | float):
            return ""
        text = format(Decimal(repr(found)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text

    return value


def _number(*path: str) -> Value:
    def value(record: object) -> str:
        found = field(record, *path)
        return str(found) if isinstance(found, int) and not isinstance(found, bool) else "0"

    return value


def _truth(*path: str) -> Value:
    return lambda record: "true" if field(record, *path) is True else "false"


def _subdivisions(record: object) -> str:
    """ISO codes from the largest to the smallest, empty ones kept in their place."""
    found = field(record, "subdivisions")
    code = _text("iso_code")
    return ",".join(map(code, found)) if isinstance(found, list) else ""


CITY: Final[dict[str, Value]] = {
    "geoip/city/name": _text("city", "names", "en"),
    "geoip/country/name": _text("country", "names", "en"),
    "geoip/country/code": _text("country", "iso_code"),
    "geoip/country/is_in_european_union": _truth("country", "is_in_european_union"),
    "geoip/continent/name": _text("continent", "names", "en"),
    "geoip/continent/code": _text("continent", "code"),
    "geoip/subdivisions/code": _subdivisions,
    "geoip/latitude": _decimal("location", "latitude"),
    "geoip/longitude": _decimal("location", "longitude"),
    "geoip/timezone": _text("location", "time_zone"),
    "geoip/postalcode": _text("postal", "code"),
}
ASN: Final[dict[str, Value]] = {
    "geoip/asn/number": _number("autonomous_system_number"),
    "geoip/asn/org": _text("autonomous_system_organization"),
}
# Words in the type that a database says it has, such as `GeoLite2-City` or `DBIP-ISP (compat=Enterprise)`.
_SCHEMAS: Final = (
    (("city", "country", "enterprise", "location"), CITY),
    (("asn", "isp"), ASN),
)


def labels_of(database_type: str) -> dict[str, Value]:
    """The labels that a database of this type can fill; none for a type that is not known."""
    text = database_type.lower()
    found: dict[str, Value] = {}
    for words, labels in _SCHEMAS:
        if any(word in text for word in words):
            found |= labels
    return found
