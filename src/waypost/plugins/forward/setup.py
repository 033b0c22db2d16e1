"""forward: send queries to upstream resolvers.

forward FROM TO... {
    except NAME...
    force_tcp | prefer_udp
    expire DURATION | max_age DURATION | max_idle_conns N | read_timeout DURATION
    max_fails N | max_connect_attempts N | max_concurrent N
    tls [CA | CERT KEY [CA]] | tls_servername NAME
    policy random|round_robin|sequential
    health_check DURATION [no_rec] [domain NAME]
    next RCODE... | next_on_nodata | failover RCODE... | failfast_all_unhealthy_upstreams
    source_address IP
}
"""

from __future__ import annotations

import os
import random
import ssl
from collections.abc import Hashable
from dataclasses import replace

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.forward.config import Config, parse
from waypost.plugins.forward.handler import Forward, Rules
from waypost.plugins.forward.metrics import make_metrics
from waypost.plugins.forward.targets import follow_files, read_targets
from waypost.toolkit.exchange import ExchangeSettings
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_group import Upstream, UpstreamGroup
from waypost.toolkit.upstream_health import HealthSettings
from waypost.toolkit.upstream_metrics import ProxyMetrics
from waypost.toolkit.upstreams import Selection, SelectionLimits


def setup(directive: Directive, site: Site) -> None:
    """Add a handler for each forward line. Raises CorefileError."""
    for config in parse(directive):
        _add(config, site)


def _add(config: Config, site: Site) -> None:
    log = site.log
    targets = read_targets(config.to)
    for warning in (*config.warnings, *targets.warnings):
        log.warning(warning)
    exchange = ExchangeSettings(
        config.read_timeout, config.expire, config.max_age, config.max_idle_conns, config.source_address
    )
    health = HealthSettings(
        config.max_fails,
        config.health_interval,
        config.health_recursion,
        config.health_domain,
        config.force_tcp,
        steady=config.failfast,
    )
    files = tuple(site.path(name) for name in config.tls)
    tls = _client_context(files) if files or any(address.tls for address in targets.addresses) else None
    proxy_metrics = ProxyMetrics(site.metrics, "forward")

    def prepare(address: UpstreamAddress) -> UpstreamAddress:
        return _with_server_name(address, config.tls_servername)

    def make(address: UpstreamAddress) -> Upstream:
        return Upstream(address, tls if address.tls else None, exchange, health, proxy_metrics.for_upstream(address))

    addresses = [prepare(address) for address in targets.addresses]
    key = ("forward", config.to, config.tls_servername, exchange, health, files, _marks(files))
    group = site.services.lender.lend(key, lambda: UpstreamGroup(make, addresses))
    if any(isinstance(target, str) for target in config.to):
        site.hooks.start.append(lambda: group.follow(lambda: follow_files(config.to, group, prepare, log)))
    metrics = make_metrics(site.metrics)
    limits = SelectionLimits(config.max_connect_attempts, config.failfast, config.failover)
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
    site.add(Forward(rules, selection, metrics))


def _with_server_name(address: UpstreamAddress, name: str) -> UpstreamAddress:
    if not address.tls or not name:
        return address
    if address.server_name:
        raise CorefileError.unlocated(
            f"both forward ({name}) and proxy level ({address.server_name}) TLS servernames are set"
            f" for upstream proxy {address}"
        )
    return replace(address, server_name=name)


def _client_context(files: tuple[str, ...]) -> ssl.SSLContext:
    """A context from no file, CA, CERT KEY or CERT KEY CA; without a CA the system's roots count."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # Go asks less of a private CA's certificates than Python 3.13 does by default.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    ca = files[-1] if len(files) in (1, 3) else ""
    if len(files) > 1:
        _check_readable(files[:2], "could not load TLS cert: ")
        try:
            context.load_cert_chain(files[0], files[1])
        except (OSError, ssl.SSLError) as exc:
            raise CorefileError.unlocated(f"could not load TLS cert: {files[0]}, {files[1]}: {exc}") from exc
    if not ca:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        return context
    _check_readable((ca,), f"error reading {ca}: ")
    try:
        context.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as exc:
        raise CorefileError.unlocated(f"could not read root certs: {ca}: {exc}") from exc
    return context


def _check_readable(files: tuple[str, ...], complaint: str) -> None:
    for name in files:
        try:
            with open(name, "rb"):
                pass
        except OSError as exc:
            reason = (exc.strerror or str(exc)).lower()
            raise CorefileError.unlocated(f"{complaint}open {name}: {reason}") from exc


def _marks(files: tuple[str, ...]) -> Hashable:
    """What changes when a certificate is renewed, so that a reload takes it up."""
    return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in map(os.stat, files))
