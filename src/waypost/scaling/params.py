"""The autoscaler's ConfigMap to parameters: one key, `linear` or `ladder`, whose value is JSON.

As cluster-proportional-autoscaler, which decodes with Go: field names in any case, the last of equal ones, unknown
fields ignored, `null` like nothing, whole numbers without point or exponent, numbers never in quotes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, TypeVar

_MAX_INT: Final = 2**63 - 1

T = TypeVar("T")


class ParamsError(Exception):
    """Parameters that cannot be used: `linear.min: expected 0 or more, got -1`."""

    def __init__(self, place: str, text: str) -> None:
        super().__init__(f"{place}: {text}" if place else text)


class Step(NamedTuple):
    """From this many cores or nodes on, so many replicas."""

    threshold: int
    replicas: int


@dataclass(frozen=True, slots=True)
class LinearParams:
    """Replicas in proportion to cores and nodes; 0 cores or nodes a replica leaves them out, max 0 is no limit."""

    cores_per_replica: float = 0.0
    nodes_per_replica: float = 0.0
    min: int = 1
    max: int = 0
    prevent_single_point_failure: bool = False
    include_unschedulable_nodes: bool = False


@dataclass(frozen=True, slots=True)
class LadderParams:
    """Replicas by steps, in the order of their thresholds."""

    cores_to_replicas: tuple[Step, ...] = ()
    nodes_to_replicas: tuple[Step, ...] = ()
    include_unschedulable_nodes: bool = False


Params: TypeAlias = LinearParams | LadderParams


def read_data(data: Mapping[str, Any]) -> Params:
    """The parameters in a ConfigMap's `data`; a value is JSON text, or the object itself. Raises ParamsError."""
    if len(data) != 1:
        found = ", ".join(sorted(data)) or "none"
        raise ParamsError("data", f"expected exactly one key, {' or '.join(_READERS)}, got {found}")
    [(mode, value)] = data.items()
    reader = _READERS.get(mode)
    if reader is None:
        raise ParamsError(f"data.{mode}", f"unknown mode; expected {' or '.join(_READERS)}")
    return reader(_decode(mode, value if isinstance(value, str) else _encode(mode, value)))


class _Number(NamedTuple):
    """A number as it stands in the text."""

    text: str


def _decode(mode: str, text: str) -> Any:
    """JSON with objects as lists of pairs and numbers as text. Raises ParamsError."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_Pairs,
            parse_int=_Number,
            parse_float=_Number,
            parse_constant=_refuse_constant,
        )
    except (ValueError, RecursionError) as exc:
        raise ParamsError(mode, f"not JSON: {exc}") from exc


def _encode(mode: str, value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as exc:
        raise ParamsError(mode, f"expected an object as JSON has them: {exc}") from exc


class _Pairs(list[tuple[str, Any]]):
    """A JSON object, keys in order and as often as they stand there."""


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


class _Fields:
    """The known fields of an object, each read as a type."""

    __slots__ = ("_mode", "_values")

    def __init__(self, mode: str, value: Any, names: tuple[str, ...]) -> None:
        if value is not None and not isinstance(value, _Pairs):
            raise ParamsError(mode, f"wrong type: expected an object, got {_shown(value)}")
        known = {name.casefold(): name for name in names}
        self._mode = mode
        self._values: dict[str, list[Any]] = {}
        for key, item in value or ():
            if name := known.get(key.casefold()):
                self._values.setdefault(name, []).append(item)

    def read(self, name: str, read: Callable[[str, Any], T], default: T) -> T:
        """The last that is not null. All are read: a wrong one is a mistake even if another follows."""
        place = f"{self._mode}.{name}"
        found = [read(place, item) for item in self._values.get(name, ()) if item is not None]
        return found[-1] if found else default


def _linear(value: Any) -> LinearParams:
    names = ("coresPerReplica", "nodesPerReplica", "min", "max", *_SWITCHES)
    fields = _Fields("linear", value, names)
    least = fields.read("min", _integer, 0)
    most = fields.read("max", _integer, 0)
    cores = fields.read("coresPerReplica", _float, 0.0)
    nodes = fields.read("nodesPerReplica", _float, 0.0)
    for name, number in (("min", least), ("max", most), ("coresPerReplica", cores), ("nodesPerReplica", nodes)):
        if number < 0:
            raise ParamsError(f"linear.{name}", f"expected 0 or more, got {number:g}")
    least = least or 1
    if most and most < least:
        raise ParamsError("linear.max", f"expected at least min, {least}, got {most}")
    if not cores and not nodes:
        raise ParamsError("linear", "expected coresPerReplica or nodesPerReplica above 0, got neither")
    prevent, include = (fields.read(name, _boolean, False) for name in _SWITCHES)
    return LinearParams(cores, nodes, least, most, prevent, include)


def _ladder(value: Any) -> LadderParams:
    fields = _Fields("ladder", value, ("coresToReplicas", "nodesToReplicas", _SWITCHES[1]))
    return LadderParams(
        fields.read("coresToReplicas", _steps, ()),
        fields.read("nodesToReplicas", _steps, ()),
        fields.read(_SWITCHES[1], _boolean, False),
    )


_SWITCHES: Final = ("preventSinglePointFailure", "includeUnschedulableNodes")
_READERS: Final[dict[str, Callable[[Any], Params]]] = {"linear": _linear, "ladder": _ladder}


def _steps(place: str, value: Any) -> tuple[Step, ...]:
    """In order of thresholds; steps of one threshold keep theirs, so that the last of them counts."""
    if not isinstance(value, list) or isinstance(value, _Pairs):
        raise ParamsError(place, f"wrong type: expected a list of [threshold, replicas], got {_shown(value)}")
    steps = [_step(f"{place}[{index}]", item) for index, item in enumerate(value)]
    return tuple(sorted(steps, key=lambda step: step.threshold))


def _step(place: str, value: Any) -> Step:
    """A pair; what lacks is 0, what is too much is left out."""
    if value is None:
        return Step(0, 0)
    if not isinstance(value, list) or isinstance(value, _Pairs):
        raise ParamsError(place, f"wrong type: expected [threshold, replicas], got {_shown(value)}")
    numbers = [0 if item is None else _integer(f"{place}[{index}]", item) for index, item in enumerate(value[:2])]
    step = Step(*numbers, *(0,) * (2 - len(numbers)))
    if min(step) < 0:
        raise ParamsError(place, f"negative entry: expected 0 or more, got [{step.threshold}, {step.replicas}]")
    return step


def _integer(place: str, value: Any) -> int:
    if isinstance(value, _Number) and value.text.lstrip("-").isdigit() and len(value.text) <= 20:
        number = int(value.text)
        if -_MAX_INT - 1 <= number <= _MAX_INT:
            return number
    raise ParamsError(place, f"wrong type: expected a whole number, got {_shown(value)}")


def _float(place: str, value: Any) -> float:
    if isinstance(value, _Number) and math.isfinite(number := float(value.text)):
        return number
    raise ParamsError(place, f"wrong type: expected a number, got {_shown(value)}")


def _boolean(place: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ParamsError(place, f"wrong type: expected true or false, got {_shown(value)}")


def _shown(value: Any) -> str:
    """A value in a message, long ones cut."""
    if isinstance(value, _Number):
        text = value.text
    elif isinstance(value, _Pairs):
        text = "an object"
    elif isinstance(value, list):
        text = "a list"
    else:
        text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
