"""Where an upstream is: `1.2.3.4`, `[::1]:5353`, `fe80::1%eth0`, `tls://9.9.9.9%dns.quad9.net:853`, `https://dns.google`."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass

from waypost.corefile.addresses import is_ip, join_host_port, parse_port, split_host_port

DNS, TLS, HTTPS, QUIC = "dns", "tls", "https", "quic"
_DEFAULT_PORTS = {DNS: "53", TLS: "853", HTTPS: "443", QUIC: "853"}
_KNOWN_SCHEMES = frozenset((*_DEFAULT_PORTS, "https3", "grpc", "unix"))
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_MAX_NAME = 253


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """An IP address with an optional IPv6 scope id, a port, and the name to expect in its certificate, if it has one.

    `scheme` is `dns`, `tls`, `https` or `quic`. Port 0 stands for a port that is none: it can be written in a
    Corefile, and asking there fails.
    """

    ip: str
    port: int
    scope: str = ""
    scheme: str = DNS
    server_name: str = ""

    def __str__(self) -> str:
        return join_host_port(f"{self.ip}%{self.scope}" if self.scope else self.ip, self.port)

    @property
    def secure(self) -> bool:
        """True if the server has to show a certificate."""
        return self.scheme != DNS

    @property
    def is_v6(self) -> bool:
        """True for IPv6."""
        return ":" in self.ip

    @property
    def family(self) -> socket.AddressFamily:
        """AF_INET or AF_INET6."""
        return socket.AF_INET6 if self.is_v6 else socket.AF_INET

    def sockaddr(self) -> tuple[str, int] | tuple[str, int, int, int]:
        """What `connect` takes. Raises OSError if there is no interface of the scope's name."""
        if not self.is_v6:
            return self.ip, self.port
        scope = self.scope
        return self.ip, self.port, 0, (int(scope) if scope.isdigit() else socket.if_nametoindex(scope)) if scope else 0


@dataclass(frozen=True, slots=True)
class UpstreamHost:
    """A host name whose addresses have to be looked up. `server_name` is empty if none but the host's is expected."""

    name: str
    port: int
    scheme: str = DNS
    server_name: str = ""

    def __str__(self) -> str:
        return join_host_port(self.name, self.port)

    def at(self, ip: str) -> UpstreamAddress:
        """The upstream at one of its addresses."""
        name = self.server_name or self.name.rstrip(".")
        return UpstreamAddress(ip, self.port, scheme=self.scheme, server_name="" if self.scheme == DNS else name)


def parse_upstream(text: str, plugin: str) -> UpstreamAddress | None:
    """An upstream as written behind `plugin`'s directive; None for what is no address, a host or file name perhaps.

    Raises ValueError for a scheme that cannot be an upstream's, or an https upstream with a path, with the text of
    CoreDNS.
    """
    scheme, rest = _scheme(text, plugin)
    split = _split(rest)
    if split is None:
        return None
    host, port = split
    ip, _, name = host.partition("%")
    if not is_ip(ip):
        return None
    names_server = scheme != DNS and not _is_link_local(ip)
    return UpstreamAddress(
        ip,
        _port_number(port or _DEFAULT_PORTS[scheme]),
        scope="" if names_server else name,
        scheme=scheme,
        server_name=name if names_server else "",
    )


def parse_upstream_host(text: str, plugin: str) -> UpstreamHost | None:
    """`[SCHEME://]HOST[%SERVERNAME][:PORT]`; None for what cannot be a host name. Raises as `parse_upstream` does."""
    scheme, rest = _scheme(text, plugin)
    host, colon, port = rest.partition(":")
    name, _, server_name = host.partition("%")
    number = _port_number(port if colon else _DEFAULT_PORTS[scheme])
    if not is_host_name(name) or not number or (server_name and scheme == DNS):
        return None
    return UpstreamHost(name, number, scheme, server_name)


def is_host_name(text: str) -> bool:
    """Letters, digits, `-` and `_` in labels, the last of which is no number: that is an address gone wrong."""
    labels = text.removesuffix(".").split(".")
    return len(text) <= _MAX_NAME and all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdigit()


def _scheme(text: str, plugin: str) -> tuple[str, str]:
    """The scheme and what is behind it."""
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in _KNOWN_SCHEMES:
        return DNS, text
    if scheme not in _DEFAULT_PORTS:
        raise ValueError(f"'{scheme}' is not supported as a destination protocol in {plugin}: {text}")
    if scheme == HTTPS and "/" in rest:
        raise ValueError(
            f"paths are not allowed in HTTPS upstream addresses (the /dns-query path is used by default): {text}"
        )
    return scheme, rest


def _split(text: str) -> tuple[str, str] | None:
    """Host and port ("" if none is written) of an address with or without brackets."""
    if is_ip(text.partition("%")[0]) and text.partition("%")[2].count(":") == 0:
        return text, ""
    try:
        return split_host_port(text)
    except ValueError:
        return None


def _port_number(text: str) -> int:
    try:
        return parse_port(text)
    except ValueError:
        return 0


def _is_link_local(ip: str) -> bool:
    return ip.lower()[:3] in ("fe8", "fe9", "fea", "feb")
