"""How forward finds the addresses of host names among its upstreams: by other name servers, never by this one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from waypost.corefile.addresses import is_ip, parse_ip
from waypost.dispatch.site import Site
from waypost.toolkit.hostlookup import Found, Resolver, look_up
from waypost.toolkit.interfaces import interface_addresses
from waypost.toolkit.resolvconf import name_servers, ndots, search_domains
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError

RESOLV_CONF = "/etc/resolv.conf"
HOSTS = "/etc/hosts"
_PORT = 53
_WILDCARDS = ("", "0.0.0.0", "::")


class Bootstrap:
    """Asks `servers`, or if there are none, those of the system, which also completes short names."""

    __slots__ = ("_servers", "_site")

    def __init__(self, servers: tuple[UpstreamAddress, ...], site: Site) -> None:
        self._servers = servers
        self._site = site

    async def look_up(self, host: str) -> Found:
        """Addresses of a host. Raises UpstreamError, for instance if nobody but ourselves can be asked."""
        resolver = Resolver(self._servers) if self._servers else _system()
        own = set(_own_addresses())
        others = tuple(server for server in resolver.servers if not self._is_own(server, own))
        if resolver.servers and not others:
            told = ", ".join(map(str, resolver.servers))
            raise UpstreamError(f"name server {told} is this server itself: name another one with `resolver`")
        return await look_up(host, resolver._replace(servers=others))

    def _is_own(self, server: UpstreamAddress, own: set[str]) -> bool:
        """True if a listener of this configuration has the address."""
        ip = _canonical(server.ip)
        here = ip in own or parse_ip(ip).is_loopback
        for site in self._site.peers:
            if any(address.scheme == "dns" and address.port == str(server.port) for address in site.addresses):
                for host in site.bind or [""]:
                    if here if host in _WILDCARDS else _canonical(host) == ip:
                        return True
        return False


def _system() -> Resolver:
    text = _read(RESOLV_CONF)
    found = (name.partition("%") for name in name_servers(text))
    servers = tuple(UpstreamAddress(ip, _PORT, scope) for ip, _, scope in found if is_ip(ip))
    return Resolver(servers, search_domains(text), ndots(text), _read(HOSTS))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _own_addresses() -> Iterator[str]:
    """Those of the machine's interfaces; none if the kernel does not tell."""
    try:
        by_interface: Iterable[list[str]] = interface_addresses().values()
    except OSError:
        return
    for addresses in by_interface:
        yield from map(_canonical, addresses)


def _canonical(text: str) -> str:
    ip = text.partition("%")[0]
    return str(parse_ip(ip)) if is_ip(ip) else text
