"""trace: tell a collector how long each plugin takes with a query.

trace [zipkin|otlp] [ENDPOINT] {
    every N
    service NAME
    client_server [BOOL]
    datadog_analytics_rate [RATE]
    zipkin_max_backlog_size N
    zipkin_max_batch_size N
    zipkin_max_batch_interval DURATION
}
"""

from __future__ import annotations

from importlib import import_module

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.plugins.trace.config import OTLP, ZIPKIN, parse

_EXPORTERS = {
    ZIPKIN: ("opentelemetry.exporter.zipkin.json", "opentelemetry-exporter-zipkin-json"),
    OTLP: ("opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry-exporter-otlp-proto-http"),
}


def setup(directive: Directive, site: Site) -> None:
    """Add the handler; spans leave from the start on, to one exporter for all blocks that say the same."""
    config = parse(directive)
    for option in config.without_effect:
        site.log.warning(f"{option} has no effect")
    module, package = _EXPORTERS[config.kind]
    for name, needed in (("opentelemetry.sdk.trace", "opentelemetry-sdk"), (module, package)):
        _check_installed(name, needed)
    from waypost.plugins.trace.export import Export, Node
    from waypost.plugins.trace.handler import Trace

    node = Node(site.bind[0], int(site.addresses[0].port)) if site.bind else None
    key = ("trace", config.kind, config.endpoint, config.service, config.buffer, node)
    export = site.services.lender.lend(key, lambda: Export(config, node, site.log, site.metrics))
    handler = Trace(config.every)
    site.hooks.start.append(lambda: handler.begin(site, export.start()))
    site.add(handler)


def _check_installed(module: str, package: str) -> None:
    try:
        import_module(module)
    except ImportError as exc:
        text = f"it needs the package {package}, which is not installed: pip install 'waypost[trace]'"
        raise CorefileError.unlocated(text) from exc
