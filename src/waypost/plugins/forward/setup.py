"""forward: send queries to upstream resolvers.

forward FROM TO... {
    except NAME...
    force_tcp | prefer_udp
    expire DURATION | max_age DURATION | max_idle_conns N | read_timeout DURATION
    max_fails N | max_connect_attempts N | max_concurrent N
    tls [CA | CERT KEY [CA]] | tls_servername NAME | doh_method GET|POST
    policy random|round_robin|sequential
    health_check DURATION [no_rec] [domain NAME] [unhealthy RCODE...]
    next RCODE... | next_on_nodata | failover RCODE... | failfast_all_unhealthy_upstreams
    source_address IP | resolver IP[:PORT]...
}
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.forward.bootstrap import Bootstrap
from waypost.plugins.forward.config import Config, parse
from waypost.plugins.forward.follow import Follower
from waypost.plugins.forward.handler import Forward, Rules
from waypost.plugins.forward.metrics import make_metrics
from waypost.plugins.forward.targets import Target, read_targets, tell_hosts
from waypost.toolkit.exchange import ExchangeSettings
from waypost.toolkit.upstream_address import DNS, HTTPS, UpstreamAddress, UpstreamHost
from waypost.toolkit.upstream_client import ClientMaker
from waypost.toolkit.upstream_group import Upstream, UpstreamGroup
from waypost.toolkit.upstream_health import HealthSettings
from waypost.toolkit.upstream_metrics import ProxyMetrics
from waypost.toolkit.upstream_tap import UpstreamTap
from waypost.toolkit.upstream_tls import files_of
from waypost.toolkit.upstreams import Selection, SelectionLimits


def setup(directive: Directive, site: Site) -> None:
    """Add a handler for each forward line. Raises CorefileError."""
    for config in parse(directive):
        _add(config, site)


def _add(config: Config, site: Site) -> None:
    targets = tell_hosts(config.to)
    metrics = make_metrics(site.metrics)
    limits = SelectionLimits(config.max_connect_attempts, config.failfast, config.failover)
    group = _group(config, targets, site)
    selection = Selection(group, config.policy, limits, metrics.healthcheck_broken, rng=random.Random())
    rules = Rules(
        config.origin,
        config.excluded,
        config.force_tcp,
        config.prefer_udp,
        config.max_concurrent,
        config.next_rcodes,
        config.next_on_nodata,
    )
    taps = [handler for handler in site.all_handlers() if isinstance(handler, UpstreamTap)]
    site.add(Forward(rules, selection, metrics, taps))


def _group(config: Config, targets: Sequence[Target], site: Site) -> UpstreamGroup:
    """The upstreams, those that an earlier configuration has if its line says the same of them."""
    read = read_targets(targets, {})
    for warning in (*config.warnings, *read.warnings):
        site.log.warning(warning)
    exchange = ExchangeSettings(
        config.read_timeout,
        config.expire,
        config.max_age,
        config.max_idle_conns,
        config.source_address,
        config.doh_method,
    )
    health = HealthSettings(
        config.max_fails,
        config.health_interval,
        config.health_recursion,
        config.health_domain,
        config.force_tcp,
        steady=config.failfast,
        unhealthy=config.health_unhealthy,
    )
    files = files_of([site.path(name) for name in config.tls])
    places: list[UpstreamAddress | UpstreamHost] = [*read.addresses]
    places += [target for target in targets if isinstance(target, UpstreamHost)]
    _check_server_names(places, config.tls_servername)
    clients = ClientMaker((place.scheme for place in places), files, exchange)
    proxy_metrics = ProxyMetrics(site.metrics, "forward")
    prepare = _preparing(config.tls_servername)

    def make(address: UpstreamAddress) -> Upstream:
        cells = proxy_metrics.for_upstream(address)
        return Upstream(address, clients.client(address, cells), health, cells)

    key = ("forward", targets, config.tls_servername, exchange, health, files, files.marks(), config.resolver)
    group = site.services.lender.lend(key, lambda: UpstreamGroup(make, map(prepare, read.addresses)))
    if any(not isinstance(target, UpstreamAddress) for target in targets):
        follower = Follower(targets, group, prepare, Bootstrap(config.resolver, site).look_up, site.log)
        site.hooks.start.append(lambda: group.begin(follower.begin, follower.run))
    return group


def _preparing(server_name: str) -> Callable[[UpstreamAddress], UpstreamAddress]:
    """Gives upstreams that show a certificate the name to expect in it, if the directive says one."""

    def prepare(address: UpstreamAddress) -> UpstreamAddress:
        return replace(address, server_name=server_name) if server_name and address.scheme != DNS else address

    return prepare


def _check_server_names(places: Iterable[UpstreamAddress | UpstreamHost], server_name: str) -> None:
    """One may be said once only; that of an https upstream has no say beside the directive's, as in CoreDNS."""
    for place in places:
        if server_name and place.server_name and place.scheme != HTTPS:
            raise CorefileError.unlocated(
                f"both forward ({server_name}) and proxy level ({place.server_name}) TLS servernames are set"
                f" for upstream proxy {place}"
            )
