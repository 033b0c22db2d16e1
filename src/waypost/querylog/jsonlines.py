"""Query logs of one JSON object a line: keys named as the placeholders of `log`, or as other programs name them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeGuard

from waypost.querylog.durations import MAX_SECONDS, parse_duration
from waypost.querylog.formats import ADDRESS
from waypost.querylog.record import Query, plain_dots
from waypost.querylog.timestamps import Clock
from waypost.wire import consts

Object: TypeAlias = Mapping[str, Any]

TEXT_KEYS: Final = ("log", "message", "msg", "MESSAGE")
"""Where programs that collect logs put the line itself."""
_KEYS: Final[Mapping[str, Sequence[str]]] = {
    "name": ("name", "qname", "query_name", "queryName", "question", "domain"),
    "type": ("type", "qtype", "query_type", "queryType"),
    "rcode": ("rcode", "response_code", "responseCode", "status"),
    "client": ("remote", "client", "client_ip", "clientIP", "remote_addr", "remoteAddr", "source", "src", "src_ip"),
    "port": ("port", "client_port", "remote_port", "src_port"),
    "id": (">id", "id", "query_id", "queryId"),
    "time": ("time", "timestamp", "ts", "@timestamp"),
}
_DURATIONS: Final = {
    "duration": 1.0, "seconds": 1.0, "latency": 1.0, "elapsed": 1.0, "duration_seconds": 1.0, "duration_s": 1.0,
    "duration_ms": 1e-3, "latency_ms": 1e-3, "duration_us": 1e-6, "duration_ns": 1e-9,
}  # fmt: skip
"""Key -> seconds in one unit of its number."""
_ENDPOINT: Final = re.compile(rf"({ADDRESS})(?::([0-9]+))?")
_WORD: Final = re.compile(r"[0-9A-Z-]{1,32}")
# Larger numbers can only be milliseconds, microseconds, nanoseconds: as seconds they lie beyond the year 5000.
_TIME_UNITS: Final = ((1e11, 1.0), (1e14, 1e-3), (1e17, 1e-6), (1e20, 1e-9))
_MAX_NAME_TEXT: Final = 4 * 255


def read_object(value: Object, clock: Clock) -> Query | None:
    """The query that an object describes; None if it describes none."""
    name = _name(_first(value, "name"))
    kind = _mnemonic(_first(value, "type"), consts.type_text)
    rcode = _mnemonic(_first(value, "rcode"), consts.rcode_text)
    if name is None or consts.type_number(kind) is None:  # many a program logs a `name` and a `type` of something else
        return None
    client, port = _endpoint(_first(value, "client"))
    port = _digits(_first(value, "port")) or port
    query_id = _digits(_first(value, "id"))
    tag = f"{port}/{query_id}" if port and query_id else ""
    return Query(name, kind, rcode, client, _seconds(value), read_time(value, clock), tag)


def read_time(value: Object, clock: Clock) -> float | None:
    """The time an object carries: text, or Unix time in seconds or a smaller unit."""
    time = _first(value, "time")
    if isinstance(time, str):
        return clock.find(time)
    if isinstance(time, bool) or not isinstance(time, int | float) or time < 0:
        return None
    return next((time * unit for limit, unit in _TIME_UNITS if time < limit), None)


def _first(value: Object, field: str) -> object:
    return next((value[key] for key in _KEYS[field] if value.get(key) is not None), None)


def _name(value: object) -> str | None:
    """A name in presentation form; what is not printable ASCII is escaped as servers do."""
    if not isinstance(value, str) or not value or len(value) > _MAX_NAME_TEXT:
        return None
    text = value.lower()
    if not (text.isascii() and text.isprintable()) or '"' in text:
        raw = text.encode("utf-8", "surrogatepass")
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F and byte != 0x22 else f"\\{byte:03d}" for byte in raw)
    return plain_dots(text)


def _mnemonic(value: object, text_of: Callable[[int], str]) -> str:
    if _is_short(value):
        return text_of(value)
    text = value.upper() if isinstance(value, str) else ""
    return text if _WORD.fullmatch(text) else ""


def _endpoint(value: object) -> tuple[str, str]:
    """Address and port of `10.0.0.1`, `10.0.0.1:5353`, `[2001:db8::1]:5353` or `2001:db8::1`."""
    text = value if isinstance(value, str) else ""
    if text.count(":") > 1 and not text.startswith("["):
        text = f"[{text}]"
    found = _ENDPOINT.fullmatch(text)
    return (found[1].strip("[]").lower(), found[2] or "") if found else ("", "")


def _digits(value: object) -> str:
    if _is_short(value):
        return str(value)
    text = value if isinstance(value, str) else ""
    return text if text.isascii() and text.isdigit() and len(text) <= 5 else ""


def _is_short(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0xFFFF


def _seconds(value: Object) -> float | None:
    for key, unit in _DURATIONS.items():
        number = value.get(key)
        if isinstance(number, str):
            return parse_duration(number)
        if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MAX_SECONDS / unit:
            return number * unit
    return None
