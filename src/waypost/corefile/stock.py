"""The Corefile that kubeadm writes, with other upstream servers and with zones of their own for stub domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

NODE_RESOLVERS: Final = ("/etc/resolv.conf",)
"""Upstream of a server that forwards to whatever its pod's resolv.conf names."""


def stock_corefile(
    domain: str,
    upstreams: Sequence[str] = NODE_RESOLVERS,
    stub_domains: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Text of the Corefile: one block for everything, then one for each stub domain.

    `domain` is the cluster domain, `upstreams` are the targets of `forward .`, `stub_domains` maps a zone to the
    targets that answer for it.
    """
    blocks = [_MAIN.format(domain=domain, upstreams=" ".join(upstreams))]
    blocks += [stub_block(zone, servers) for zone, servers in (stub_domains or {}).items()]
    return "\n".join(blocks)


def stub_block(zone: str, servers: Sequence[str]) -> str:
    """The block that sends a zone's questions to these servers."""
    return _STUB.format(zone=zone.removesuffix("."), servers=" ".join(servers))


_MAIN: Final = """\
.:53 {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes {domain} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :9153
    forward . {upstreams} {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {domain}
       disable denial {domain}
    }}
    loop
    reload
    loadbalance
}}
"""
_STUB: Final = """\
{zone}:53 {{
    errors
    cache 30
    forward . {servers} {{
       max_concurrent 1000
    }}
    loop
    reload
}}
"""
