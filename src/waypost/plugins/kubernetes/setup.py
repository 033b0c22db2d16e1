"""`kubernetes` directive -> Config -> handler; the cluster is reached by a start hook."""

from __future__ import annotations

from dataclasses import replace

from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site, everywhere
from waypost.plugins.kubernetes.config import Config, SourceConfig, parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.plugins.kubernetes.source import ClusterSource
from waypost.toolkit.interfaces import interface_addresses
from waypost.toolkit.resolvconf import search_domains
from waypost.wire import addr

_RESOLV_CONF = "/etc/resolv.conf"


def setup(directive: Directive, site: Site) -> None:
    """Add the handler. Raises CorefileError."""
    config = parse(directive, site.zones)
    config = replace(config, source=_source_config(config, site))
    for warning in config.warnings:
        site.log.warning(warning)
    if config.source.manifests and config.source.snapshot:
        site.log.warning("'snapshot' has no effect with manifests, which are there at every start")
    if config.source.manifests and config.imported:
        raise CorefileError.unlocated("multicluster needs an API server: imported Services are not read from manifests")
    log = site.log
    source = site.services.lender.lend(
        ("kubernetes", config.source), lambda: ClusterSource(config.source, log, site.metrics)
    )
    search = own_search() if config.source.pods else ()
    silence = None if config.source.manifests else source.silence
    local = _own_addresses(site)
    site.add(Kubernetes(config, source.index, local, search, source.imports, silence, source.versions))
    site.hooks.start.append(everywhere(lambda: source.start(config.startup_timeout)))


def _source_config(config: Config, site: Site) -> SourceConfig:
    """The block's part of it: the command line's source if it names none itself, pods' labels if it has metadata."""
    source = replace(
        config.source,
        pod_labels=config.source.pods and site.collect is not None,
        snapshot=site.path(config.source.snapshot) if config.source.snapshot else "",
    )
    if source.manifests:
        return replace(source, manifests=tuple(site.path(path) for path in source.manifests))
    if source.endpoint or source.kubeconfig:
        return source
    if site.services.manifests:
        return replace(source, manifests=site.services.manifests)
    kubeconfig, context = site.services.kubeconfig
    if not kubeconfig:
        return source
    # Somebody looks at the cluster from elsewhere: the file is the server's own.
    return replace(source, kubeconfig=kubeconfig, context=context, snapshot="")


def own_search(path: str = _RESOLV_CONF) -> tuple[bytes, ...]:
    """The search list of this machine, which a pod's own ends with; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return search_domains(file.read())
    except OSError:
        return ()


def _own_addresses(site: Site) -> list[bytes]:
    """The addresses by which this server can be somebody's endpoint: bound ones, or all of the machine; no loopback."""
    texts = site.bind
    if not texts:
        try:
            texts = [text for found in interface_addresses().values() for text in found]
        except OSError as exc:
            site.log.warning(f"own addresses are not known, so the zones have no name servers: {exc}")
    packed = (addr.pack(text.partition("%")[0]) for text in texts)
    return [address for address in packed if address is not None and not _is_loopback(address)]


def _is_loopback(packed: bytes) -> bool:
    return packed[:1] == b"\x7f" if len(packed) == 4 else packed == b"\x00" * 15 + b"\x01"
