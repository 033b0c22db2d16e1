"""The `trace` directive to what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from waypost.corefile.args import Cursor, parse_bool, parse_duration, parse_int, parse_uint
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive

ZIPKIN: Final = "zipkin"
OTLP: Final = "otlp"
_DATADOG: Final = "datadog"
_PATHS: Final = {ZIPKIN: "/api/v2/spans", OTLP: "/v1/traces"}
_ADDRESSES: Final = {ZIPKIN: "localhost:9411", OTLP: "localhost:4318"}
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Buffer:
    """How many spans wait at most, how many leave together, and after how many seconds at the latest."""

    backlog: int = 1000
    batch: int = 100
    interval: float = 1.0


_DEFAULT: Final = Buffer()


@dataclass(frozen=True, slots=True)
class Config:
    """Which collector; every how many queries (0: none); under which name; what CoreDNS takes and we cannot do."""

    kind: str = ZIPKIN
    endpoint: str = f"http://{_ADDRESSES[ZIPKIN]}{_PATHS[ZIPKIN]}"
    every: int = 1
    service: str = "coredns"
    buffer: Buffer = _DEFAULT
    without_effect: tuple[str, ...] = ()


def parse(directive: Directive) -> Config:
    """The last of several lines says where to; options add up. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        if len(args) > 2:
            raise cursor.arg_err()
        kind = args[0].lower() if len(args) == 2 else ZIPKIN
        config = replace(config, kind=kind, endpoint=_endpoint(kind, args[-1] if args else ""))
        for option, values in cursor.options():
            read = _OPTIONS.get(option)
            if read is None:
                raise cursor.err(f"unknown property '{option}'")
            least = 0 if option in _OPTIONAL else 1
            if not least <= len(values) <= 1:
                raise cursor.arg_err()
            try:
                config = read(config, values[0] if values else "")
            except ValueError as exc:
                raise CorefileError.unlocated(str(exc)) from exc
    return config


def _endpoint(kind: str, text: str) -> str:
    if kind == _DATADOG:
        raise CorefileError.unlocated(
            "tracing to datadog is not included; Datadog's agent takes OpenTelemetry, too: trace otlp HOST:4318"
        )
    if kind not in _PATHS:
        raise CorefileError.unlocated(f"tracing endpoint type '{kind}' is not supported")
    text = text or _ADDRESSES[kind]
    return text if "http" in text else f"http://{text}{_PATHS[kind]}"


def _client_server(config: Config, text: str) -> Config:
    """A query over DNS brings no span to share; CoreDNS has one with DNS over HTTPS only."""
    wanted = parse_bool(text) if text else True
    return _without_effect(config, "client_server") if wanted else config


def _analytics_rate(config: Config, text: str) -> Config:
    if text and not _NUMBER.fullmatch(text):
        raise ValueError(f'strconv.ParseFloat: parsing "{text}": invalid syntax')
    rate = float(text or "0")
    if not 0 <= rate <= 1:
        raise ValueError(f"datadog analytics rate must be between 0 and 1, '{rate:f}' is not supported")
    return _without_effect(config, "datadog_analytics_rate")


def _without_effect(config: Config, option: str) -> Config:
    return replace(config, without_effect=(*config.without_effect, option))


def _size(option: str, text: str) -> int | None:
    """None for 0, which leaves the default."""
    value = parse_int(text)
    if value < 0:
        raise ValueError(f"{option}: expected a number that is not negative, got {value}")
    return value or None


def _backlog(config: Config, text: str) -> Config:
    size = _size("zipkin_max_backlog_size", text) or _DEFAULT.backlog
    return replace(config, buffer=replace(config.buffer, backlog=size))


def _batch(config: Config, text: str) -> Config:
    size = _size("zipkin_max_batch_size", text) or _DEFAULT.batch
    return replace(config, buffer=replace(config.buffer, batch=size))


def _interval(config: Config, text: str) -> Config:
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError(f"zipkin_max_batch_interval: expected a duration that is not negative, got {text}")
    return replace(config, buffer=replace(config.buffer, interval=seconds or _DEFAULT.interval))


_OPTIONS: Final[Mapping[str, Callable[[Config, str], Config]]] = {
    "every": lambda config, text: replace(config, every=parse_uint(text)),
    "service": lambda config, text: replace(config, service=text),
    "client_server": _client_server,
    "datadog_analytics_rate": _analytics_rate,
    "zipkin_max_backlog_size": _backlog,
    "zipkin_max_batch_size": _batch,
    "zipkin_max_batch_interval": _interval,
}
_OPTIONAL: Final = frozenset(("client_server", "datadog_analytics_rate"))
"""Options whose value may be left out."""
