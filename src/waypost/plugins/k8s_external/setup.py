"""`k8s_external` directive -> Config -> handler; the block's kubernetes plugin is found by a start hook."""

from __future__ import annotations

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.k8s_external.config import parse
from waypost.plugins.k8s_external.handler import Cluster, External
from waypost.wire.errors import BadName


def setup(directive: Directive, site: Site) -> None:
    """Add the handler. Raises CorefileError."""
    config = parse(directive, site.zones)
    try:
        handler = External(config)
    except BadName as exc:
        raise CorefileError.unlocated(f"no room for the apex below a zone: {exc}") from exc
    site.add(handler)
    site.hooks.start.append(lambda: connect(handler, site))


def connect(handler: External, site: Site) -> None:
    """Give the handler the cluster of its block's kubernetes plugin. Raises CorefileError if there is none."""
    for cluster in site.handlers.get("kubernetes", ()):
        if isinstance(cluster, Cluster):
            handler.use(cluster)
            return
    raise CorefileError.unlocated("plugin/k8s_external: kubernetes plugin not loaded")
