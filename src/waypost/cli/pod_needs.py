"""A Corefile to what it asks of its pod, each directive read by its own plugin. Heavy: it sets every plugin up."""

from __future__ import annotations

from collections.abc import Iterator

from waypost.addon.settings import Needs
from waypost.cli.prepared import prepare
from waypost.corefile.addresses import parse_port, split_host_port
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile, Directive
from waypost.plugins import health, prometheus, ready
from waypost.plugins.kubernetes import config as kubernetes

_DNS_PORT = 53
_ROOT = (b"\0",)
_IMPORTS = "multicluster.x-k8s.io/serviceimports"


def read_needs(text: str, name: str) -> Needs:
    """Of the Corefile `text`; `name` is for messages, and where relative imports start.

    Raises CorefileError or OSError.
    """
    corefile, instance = prepare(text, name)
    ports = sorted({int(endpoint.port) for endpoint in instance.plan.servers if endpoint.scheme == "dns"})
    if not ports:
        raise CorefileError.unlocated("no server block serves plain DNS, which is what pods ask")
    lameducks = [health.parse(each).lameduck for each in _directives(corefile, "health")]
    return Needs(
        dns_port=_DNS_PORT if _DNS_PORT in ports else ports[0],
        health_port=_port(health.parse(each).address for each in _directives(corefile, "health")),
        ready_port=_port(ready.parse(each).address for each in _directives(corefile, "ready")),
        metrics_port=_port(prometheus.parse(each).address for each in _directives(corefile, "prometheus")),
        lameduck=max(lameducks, default=0.0),
        reads=tuple(_reads(corefile)),
    )


def _directives(corefile: Corefile, name: str) -> Iterator[Directive]:
    return (directive for block in corefile.blocks for directive in block.directives if directive.name == name)


def _port(addresses: Iterator[str]) -> int | None:
    """The first one: a pod has one probe of a kind."""
    address = next(addresses, None)
    return None if address is None else parse_port(split_host_port(address)[1])


def _reads(corefile: Corefile) -> Iterator[str]:
    """What all kubernetes blocks list and watch, in a fixed order."""
    sources = [kubernetes.parse(each, _ROOT).source for each in _directives(corefile, "kubernetes")]
    wanted = (
        ("/services", bool(sources)),
        ("/namespaces", bool(sources)),
        ("/pods", any(source.pods for source in sources)),
        ("discovery.k8s.io/endpointslices", any(source.endpoints for source in sources)),
        (_IMPORTS, any(source.imports for source in sources)),
    )
    return (resource for resource, needed in wanted if needed)
