"""grpc: send queries to upstreams that speak DNS over gRPC.

grpc FROM TO... {
    except NAME...
    tls [CA | CERT KEY [CA]]
    tls_servername NAME
    policy random|round_robin|sequential
    fallthrough [ZONES...]
}
"""

from __future__ import annotations

import random
from collections.abc import Hashable
from dataclasses import replace
from typing import Final

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.metrics.registry import Counter
from waypost.plugins.grpc.config import Config, parse
from waypost.plugins.grpc.handler import Grpc
from waypost.plugins.grpc.metrics import GrpcMetrics, UpstreamCells
from waypost.toolkit.extras import require
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_group import Upstream, UpstreamGroup
from waypost.toolkit.upstream_health import HealthSettings
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.toolkit.upstream_pool import PoolLimits
from waypost.toolkit.upstream_tls import client_context, files_of
from waypost.toolkit.upstreams import Selection, SelectionLimits

# Connections are kept as long as queries come.
_LIMITS: Final = PoolLimits(timeout=2.0, expire=240.0, max_age=0.0, max_idle=0)
_NEVER_PROBED: Final = HealthSettings(max_fails=0)


def setup(directive: Directive, site: Site) -> None:
    """Add a handler. Raises CorefileError."""
    config = parse(directive)
    require("h2", "grpc", "grpc")
    # Each upstream is asked once.
    limits = SelectionLimits(max_attempts=len(config.to))
    selection = Selection(_group(config, site), config.policy, limits, Counter(), rng=random.Random())
    site.add(Grpc(config, selection))


def _group(config: Config, site: Site) -> UpstreamGroup:
    """The upstreams, those that an earlier configuration has if its line says the same of them."""
    from waypost.toolkit.upstream_grpc import ALPN, grpc_client

    metrics = GrpcMetrics(site.metrics)
    files = files_of([site.path(name) for name in config.tls or ()])
    tls = None if config.tls is None else client_context(files, ALPN)
    unseen = SocketCache(Counter(), Counter())

    def make(address: UpstreamAddress) -> Upstream:
        named = replace(address, server_name=config.tls_servername or address.server_name)
        client = grpc_client(named, tls, _LIMITS, unseen)
        return Upstream(named, client, _NEVER_PROBED, UpstreamCells(metrics, address))

    secure: Hashable = None if config.tls is None else (files, files.marks())
    key = ("grpc", config.to, config.tls_servername, secure)
    return site.services.lender.lend(key, lambda: UpstreamGroup(make, config.to))
