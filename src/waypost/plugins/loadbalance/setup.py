"""loadbalance: change the order of address and MX records, so that clients spread over them.

loadbalance [round_robin | weighted FILE] {
    prefer CIDR...        (round_robin)
    reload DURATION       (weighted)
}
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from waypost.corefile.addresses import parse_network
from waypost.corefile.args import Cursor, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.plugins.loadbalance.handler import LoadBalance, Policy, RoundRobin, Subnet, Weighted
from waypost.plugins.loadbalance.weights import WeightError, WeightFile

_ROUND_ROBIN, _WEIGHTED = "round_robin", "weighted"
_UNLOCATED = CorefileError.unlocated


@dataclass(frozen=True, slots=True)
class Config:
    """`weight_file` is empty for round robin. `reload` in seconds, 0: never."""

    preferred: tuple[Subnet, ...] = ()
    weight_file: str = ""
    reload: float = 30.0


def parse(directive: Directive) -> Config:
    """Raises CorefileError. Of several occurrences the last counts."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        config = _policy(cursor, args)
        options = _WEIGHTED_OPTIONS if config.weight_file else _ROUND_ROBIN_OPTIONS
        for name, values in cursor.options():
            read = options.get(name)
            if read is None:
                raise cursor.err(f"unknown property '{name}'")
            config = read(cursor, config, values)
    return config


def _policy(cursor: Cursor, args: list[str]) -> Config:
    name, *rest = args or [_ROUND_ROBIN]
    if name == _ROUND_ROBIN:
        if rest:
            raise cursor.err("unknown property for round_robin")
        return Config()
    if name != _WEIGHTED:
        raise _UNLOCATED(f"unknown policy: {name}")
    if not rest:
        raise cursor.err("missing weight file argument")
    if len(rest) > 1:
        raise cursor.err("unexpected argument(s)")
    return Config(weight_file=rest[0])


def _prefer(cursor: Cursor, config: Config, values: list[str]) -> Config:
    return replace(config, preferred=config.preferred + tuple(_subnet(cursor, text) for text in values))


def _reload(cursor: Cursor, config: Config, values: list[str]) -> Config:
    if not values:
        raise cursor.err("missing reload duration (expected one value, such as 30s)")
    if len(values) > 1:
        raise cursor.err("unexpected argument(s)")
    try:
        interval = parse_duration(values[0])
    except ValueError:
        interval = -1.0
    if interval < 0:
        raise cursor.err(f"invalid reload duration '{values[0]}'")
    return replace(config, reload=interval)


_Option = Callable[[Cursor, Config, list[str]], Config]
_ROUND_ROBIN_OPTIONS: dict[str, _Option] = {"prefer": _prefer}
_WEIGHTED_OPTIONS: dict[str, _Option] = {"reload": _reload}


def _subnet(cursor: Cursor, text: str) -> Subnet:
    try:
        network = parse_network(text)
    except ValueError as error:
        raise cursor.err(f"invalid CIDR {quote(text)}: {error}") from error
    return Subnet(network.max_prefixlen // 8, int(network.netmask), int(network.network_address))


def setup(directive: Directive, site: Site) -> None:
    """Add the handler. Raises CorefileError, also for a weight file that is wrong."""
    config = parse(directive)
    rng = random.Random().random
    policy: Policy = RoundRobin(rng, config.preferred)
    if config.weight_file:
        weights = WeightFile(site.path(config.weight_file), config.reload, site.log)
        try:
            weights.load()
        except WeightError as error:
            raise _UNLOCATED(str(error)) from error
        site.hooks.start.append(weights.start)
        site.hooks.stop.append(weights.stop)
        policy = Weighted(rng, weights)
    site.add(LoadBalance(policy))
