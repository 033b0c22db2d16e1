"""What the `kubernetes` directive says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from waypost.cluster.policy import PODS_DISABLED, PODS_INSECURE, PODS_VERIFIED, Policy
from waypost.cluster.selector import parse_selector
from waypost.corefile.args import Cursor, parse_duration, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.kube.limits import Limits
from waypost.toolkit.zonelist import ZoneList, fallthrough_of, wire_zones
from waypost.wire import names

MAX_TTL = 3600
_REVERSE = (b"\x07in-addr\x04arpa\x00", b"\x03ip6\x04arpa\x00")


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """Where the cluster's objects come from and which of them are kept: equal values can share one index."""

    endpoint: str = ""
    tls: tuple[str, str, str] | None = None
    kubeconfig: str = ""
    context: str = ""
    manifests: tuple[str, ...] = ()
    labels: str = ""
    namespace_labels: str = ""
    endpoints: bool = True
    pods: bool = False
    pod_labels: bool = False
    endpoint_pod_names: bool = False
    zonal: bool = False
    imports: bool = False
    snapshot: str = ""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole directive. Zones are in wire form and lower case; `primary` is the zone of PTR targets."""

    zones: tuple[bytes, ...]
    primary: bytes
    source: SourceConfig
    policy: Policy
    fallthrough: ZoneList
    startup_timeout: float
    imported: tuple[bytes, ...]
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Draft:
    source: SourceConfig = field(default_factory=SourceConfig)
    policy: Policy = field(default_factory=Policy)
    fallthrough: ZoneList = field(default_factory=ZoneList)
    startup_timeout: float = 5.0
    imported: tuple[bytes, ...] = ()
    warnings: list[str] = field(default_factory=list)


def parse(directive: Directive, zones: tuple[bytes, ...]) -> Config:
    """Read the directive; `zones` are the block's own. Raises CorefileError."""
    cursor = Cursor(directive)
    draft = _Draft()
    primary = b""
    for args in cursor.occurrences():
        if primary:
            raise cursor.err("this plugin can only be used once per Server Block")
        zones = wire_zones(args) if args else zones
        primary = _primary_zone(zones)
        for name, values in cursor.options():
            option = _OPTIONS.get(name)
            if option is None:
                raise cursor.err(f"unknown property '{name}'")
            option(cursor, draft, values)
        _check(cursor, draft, zones)
    return Config(
        zones,
        primary,
        replace(draft.source, imports=bool(draft.imported)),
        draft.policy,
        draft.fallthrough,
        draft.startup_timeout,
        draft.imported,
        tuple(draft.warnings),
    )


def _check(cursor: Cursor, draft: _Draft, zones: tuple[bytes, ...]) -> None:
    """Options that do not go together."""
    if draft.policy.namespaces is not None and draft.source.namespace_labels:
        raise cursor.err("namespaces and namespace_labels cannot both be set")
    if draft.policy.zonal and not draft.policy.endpoints:
        raise CorefileError.unlocated("zonal requires the endpoint cache; remove noendpoints")
    for zone in draft.imported:
        if zone not in zones:
            known = " ".join(map(names.to_text, zones))
            text = f"is not authoritative for the multicluster zone {names.to_text(zone)}"
            raise CorefileError.unlocated(f"{text} (authoritative zones: [{known}])")


def _primary_zone(zones: tuple[bytes, ...]) -> bytes:
    for zone in zones:
        if not _is_reverse(zone):
            return zone
    raise CorefileError.unlocated("non-reverse zone name must be used")


def _is_reverse(zone: bytes) -> bool:
    """Below a reverse tree; the trees themselves count as forward zones, as in CoreDNS."""
    return any(zone.endswith(tree) and zone != tree for tree in _REVERSE)


def _endpoint(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    if len(values) > 1:
        draft.warnings.append(
            f"Multiple endpoints have been deprecated, only the first specified endpoint '{values[0]}' is used"
        )
    draft.source = replace(draft.source, endpoint=values[0])


def _tls(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if len(values) != 3:
        raise cursor.arg_err()
    draft.source = replace(draft.source, tls=(values[0], values[1], values[2]))


def _kubeconfig(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if len(values) not in (1, 2):
        raise cursor.arg_err()
    draft.source = replace(draft.source, kubeconfig=values[0], context=values[1] if len(values) > 1 else "")


def _manifests(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    draft.source = replace(draft.source, manifests=(*draft.source.manifests, *values))


def _namespaces(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    known = draft.policy.namespaces or frozenset()
    draft.policy = replace(draft.policy, namespaces=known | {value.encode() for value in values})


def _selector(field_name: str, label: str) -> Callable[[Cursor, _Draft, list[str]], None]:
    def option(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
        if not values:
            raise cursor.arg_err()
        text = " ".join(values)
        try:
            parse_selector(text)
        except ValueError as exc:
            raise cursor.err(f"unable to parse {label} selector value: '{text}': {exc}") from exc
        changes = {field_name: text}
        draft.source = replace(draft.source, **changes)  # type: ignore[arg-type]  # a text field by name

    return option


def _pods(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if len(values) != 1:
        raise cursor.arg_err()
    if values[0] not in (PODS_DISABLED, PODS_INSECURE, PODS_VERIFIED):
        raise cursor.err(
            f"wrong value for pods: {values[0]},  must be one of: {PODS_DISABLED}, {PODS_VERIFIED}, {PODS_INSECURE}"
        )
    draft.policy = replace(draft.policy, pods=values[0])
    draft.source = replace(draft.source, pods=values[0] == PODS_VERIFIED)


def _endpoint_pod_names(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    _no_args(cursor, values)
    draft.source = replace(draft.source, endpoint_pod_names=True)


def _ttl(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    ttl = cursor.parsed(parse_int, values[0])
    if not 0 <= ttl <= MAX_TTL:
        raise cursor.err(f"ttl must be in range [0, {MAX_TTL}]: {ttl}")
    draft.policy = replace(draft.policy, ttl=ttl)


def _noendpoints(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    _no_args(cursor, values)
    draft.policy = replace(draft.policy, endpoints=False)
    draft.source = replace(draft.source, endpoints=False)


def _fallthrough(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    draft.fallthrough = fallthrough_of(values)


def _ignore(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        draft.warnings.append("'ignore' without a value has no effect; 'ignore empty_service' is what exists")
        return
    if values[0] != "empty_service":
        raise CorefileError.unlocated(f"unable to parse ignore value: '{values[0]}'")
    draft.policy = replace(draft.policy, ignore_empty_service=True)


def _startup_timeout(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        raise cursor.arg_err()
    try:
        draft.startup_timeout = max(0.0, parse_duration(values[0]))
    except ValueError as exc:
        raise CorefileError.unlocated(f"failed to parse startup_timeout: {values[0]}, {exc}") from exc


def _qps(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    text = _one(cursor, values)
    try:
        qps = float(text)
    except ValueError as exc:
        raise cursor.err(
            f'invalid apiserver_qps "{text}": strconv.ParseFloat: parsing "{text}": invalid syntax'
        ) from exc
    if not qps >= 0:
        raise cursor.err("apiserver_qps must be >= 0")
    draft.source = replace(draft.source, limits=replace(draft.source.limits, qps=qps))


def _burst(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    burst = _count(cursor, "apiserver_burst", values)
    draft.source = replace(draft.source, limits=replace(draft.source.limits, burst=burst))


def _max_inflight(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    inflight = _count(cursor, "apiserver_max_inflight", values)
    draft.source = replace(draft.source, limits=replace(draft.source.limits, max_inflight=inflight))


def _multicluster(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    if not values:
        draft.warnings.append("'multicluster' without zones has no effect")
    draft.imported = wire_zones(values)


def _zonal(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    _no_args(cursor, values)
    draft.policy = replace(draft.policy, zonal=True)
    draft.source = replace(draft.source, zonal=True)


def _snapshot(cursor: Cursor, draft: _Draft, values: list[str]) -> None:
    draft.source = replace(draft.source, snapshot=_one(cursor, values))


def _no_args(cursor: Cursor, values: list[str]) -> None:
    if values:
        raise cursor.arg_err()


def _one(cursor: Cursor, values: list[str]) -> str:
    if len(values) != 1:
        raise cursor.arg_err()
    return values[0]


def _count(cursor: Cursor, name: str, values: list[str]) -> int:
    text = _one(cursor, values)
    try:
        count = parse_int(text)
    except ValueError as exc:
        raise cursor.err(f'invalid {name} "{text}": {exc}') from exc
    if count < 0:
        raise cursor.err(f"{name} must be >= 0")
    return count


_OPTIONS: dict[str, Callable[[Cursor, _Draft, list[str]], None]] = {
    "endpoint": _endpoint,
    "tls": _tls,
    "kubeconfig": _kubeconfig,
    "manifests": _manifests,
    "namespaces": _namespaces,
    "namespace_labels": _selector("namespace_labels", "namespace_label"),
    "labels": _selector("labels", "label"),
    "pods": _pods,
    "endpoint_pod_names": _endpoint_pod_names,
    "ttl": _ttl,
    "noendpoints": _noendpoints,
    "fallthrough": _fallthrough,
    "ignore": _ignore,
    "startup_timeout": _startup_timeout,
    "apiserver_qps": _qps,
    "apiserver_burst": _burst,
    "apiserver_max_inflight": _max_inflight,
    "multicluster": _multicluster,
    "zonal": _zonal,
    "snapshot": _snapshot,
}
