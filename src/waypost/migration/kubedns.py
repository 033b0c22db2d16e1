"""A ConfigMap of kube-dns to a Corefile: `stubDomains` and `upstreamNameservers`, both JSON in text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, Final, NamedTuple

from waypost.corefile.addresses import split_host_port
from waypost.corefile.stock import NODE_RESOLVERS, stock_corefile

STUB_DOMAINS: Final = "stubDomains"
UPSTREAM: Final = "upstreamNameservers"
FEDERATIONS: Final = "federations"
KEYS: Final = (STUB_DOMAINS, UPSTREAM, FEDERATIONS)
_MAX_UPSTREAMS: Final = 3
_NAME: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*\.?", re.ASCII | re.IGNORECASE)
_MAX_NAME: Final = 253


class KubeDnsError(Exception):
    """A value of the ConfigMap that cannot be used: `data.upstreamNameservers[0]: expected ...`."""


class Converted(NamedTuple):
    """The Corefile, and what could not be taken over."""

    text: str
    notices: list[str]


def is_kube_dns(data: Mapping[str, Any]) -> bool:
    """Whether the data of a ConfigMap are those of kube-dns."""
    return any(key in data for key in KEYS)


def convert(data: Mapping[str, Any], domain: str) -> Converted:
    """The Corefile that does for a cluster with this domain what the ConfigMap did. Raises KubeDnsError."""
    stubs = stub_domains(data)
    upstreams = upstream_nameservers(data)
    notices = [f"data.{key}: left out, kube-dns has no such key" for key in data if key not in KEYS]
    if data.get(FEDERATIONS):
        notices.append(f"data.{FEDERATIONS}: dropped, Kubernetes has no cluster federation any more")
    return Converted(stock_corefile(domain, upstreams or NODE_RESOLVERS, stubs), notices)


def stub_domains(data: Mapping[str, Any]) -> dict[str, list[str]]:
    """Zones, in lower case and without the last dot, with the servers that answer for them. Raises KubeDnsError."""
    value = _json(STUB_DOMAINS, data.get(STUB_DOMAINS), {})
    if not isinstance(value, dict):
        raise KubeDnsError(f'data.{STUB_DOMAINS}: expected an object such as {{"example.local": ["10.100.0.10:53"]}}')
    found: dict[str, list[str]] = {}
    for zone, servers in value.items():
        place = f"data.{STUB_DOMAINS}[{json.dumps(zone)}]"
        if not _NAME.fullmatch(zone) or len(zone) > _MAX_NAME:
            raise KubeDnsError(f"{place}: expected a domain such as example.local")
        if not isinstance(servers, list) or not servers:
            raise KubeDnsError(f'{place}: expected a list of servers such as ["10.100.0.10:53"]')
        found[zone.lower().removesuffix(".")] = [
            _server(f"{place}[{index}]", server, names=True) for index, server in enumerate(servers)
        ]
    return found


def upstream_nameservers(data: Mapping[str, Any]) -> list[str]:
    """Servers for everything else; none leaves that to the node. Raises KubeDnsError."""
    value = _json(UPSTREAM, data.get(UPSTREAM), [])
    if not isinstance(value, list) or len(value) > _MAX_UPSTREAMS:
        raise KubeDnsError(
            f'data.{UPSTREAM}: expected a list of at most {_MAX_UPSTREAMS} servers such as ["8.8.8.8:53"]'
        )
    return [_server(f"data.{UPSTREAM}[{index}]", server, names=False) for index, server in enumerate(value)]


def _json(key: str, text: Any, default: Any) -> Any:
    if text is None or text == "":
        return default
    if not isinstance(text, str):
        raise KubeDnsError(f"data.{key}: expected JSON in text, put it in quotes")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise KubeDnsError(f"data.{key}: not JSON: {exc}") from exc


def _server(place: str, server: Any, *, names: bool) -> str:
    """IP, IP:PORT, or (`names`) the name of a server."""
    if isinstance(server, str):
        host, port = server, "53"
        if not _is_ip(server) and ":" in server:
            try:
                host, port = split_host_port(server)
            except ValueError:
                host = ""
        good_port = port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) < 1 << 16
        if good_port and (_is_ip(host) or (names and _NAME.fullmatch(host) and len(host) <= _MAX_NAME)):
            return server
    raise KubeDnsError(f"{place}: expected an address such as 10.100.0.10 or 10.100.0.10:53, got {json.dumps(server)}")


def _is_ip(text: str) -> bool:
    try:
        return "%" not in text and bool(ip_address(text))
    except ValueError:
        return False
