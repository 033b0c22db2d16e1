"""Where an upstream is: `1.2.3.4`, `[::1]:5353`, `fe80::1%eth0`, `tls://9.9.9.9%dns.quad9.net:853`."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from waypost.corefile.addresses import is_ip, join_host_port, parse_port, split_host_port

_DEFAULT_PORTS = {"dns": "53", "tls": "853"}
# CoreDNS 1.14.7 also speaks DNS over HTTPS to upstreams.
_UNSUPPORTED_YET = frozenset(("https",))
_KNOWN_SCHEMES = frozenset((*_DEFAULT_PORTS, *_UNSUPPORTED_YET, "https3", "quic", "grpc", "unix"))


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """An IP address with an optional IPv6 scope id, a port, and the name to expect in its certificate if over TLS.

    Port 0 stands for a port that is none: it can be written in a Corefile, and asking there fails.
    """

    ip: str
    port: int
    scope: str = ""
    tls: bool = False
    server_name: str = ""

    def __str__(self) -> str:
        return join_host_port(f"{self.ip}%{self.scope}" if self.scope else self.ip, self.port)

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


def parse_upstream(text: str, plugin: str) -> UpstreamAddress | None:
    """An upstream as written behind `plugin`'s directive; None for what is no address, a file name perhaps.

    Raises ValueError for a scheme that cannot be an upstream's, with the text of CoreDNS.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or scheme not in _KNOWN_SCHEMES:
        scheme, rest = "dns", text
    if scheme in _UNSUPPORTED_YET:
        raise ValueError(f"'{scheme}' upstreams are not supported yet: {text}")
    if scheme not in _DEFAULT_PORTS:
        raise ValueError(f"'{scheme}' is not supported as a destination protocol in {plugin}: {text}")
    split = _split(rest)
    if split is None:
        return None
    host, port = split
    ip, _, name = host.partition("%")
    if not is_ip(ip):
        return None
    is_tls = scheme == "tls"
    names_server = is_tls and not _is_link_local(ip)
    return UpstreamAddress(
        ip,
        _port_number(port or _DEFAULT_PORTS[scheme]),
        scope="" if names_server else name,
        tls=is_tls,
        server_name=name if names_server else "",
    )


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
