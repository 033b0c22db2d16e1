"""Addresses of a host name as a stub resolver finds them, for those who must ask before this server can answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from waypost.metrics.registry import Counter
from waypost.toolkit.exchange import Client, ExchangeSettings, Transport
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.toolkit.upstream_metrics import SocketCache
from waypost.wire import addr, consts, names
from waypost.wire.errors import BadName
from waypost.wire.message import Message, make_query
from waypost.wire.query import Query

_PATIENCE = 10.0
_PASSES = 2
_TYPES = (consts.TYPE_A, consts.TYPE_AAAA)
_MAX_CHAIN = 16
_TRANSPORT = Transport(stream=False, retry_truncated=True)
_HOSTS_TTL = 60


class Resolver(NamedTuple):
    """Whom to ask and how names are completed. `hosts` is the text of a file like /etc/hosts, which comes first."""

    servers: tuple[UpstreamAddress, ...]
    search: tuple[bytes, ...] = ()
    ndots: int = 0
    hosts: str = ""


class Found(NamedTuple):
    """IPv4 addresses, then IPv6 ones, each in the order of their text, and for how many seconds they hold."""

    addresses: tuple[str, ...]
    ttl: int


async def look_up(host: str, resolver: Resolver) -> Found:
    """At least one address. Raises UpstreamError with a text like Go's."""
    listed = _in_hosts(host, resolver.hosts)
    if listed:
        return Found(_ordered(listed), _HOSTS_TTL)
    error = UpstreamError(f"lookup {host}: no such host")
    try:
        async with asyncio.timeout(_PATIENCE):
            for name in _candidates(host, resolver):
                try:
                    found = await _ask_all(name, resolver.servers)
                except UpstreamError as exc:
                    error = UpstreamError(f"lookup {host}: {exc}")
                    continue
                if found.addresses:
                    return found
    except TimeoutError:
        raise UpstreamError(f"lookup {host}: i/o timeout") from None
    raise error


def _candidates(host: str, resolver: Resolver) -> Iterator[bytes]:
    """The wire names to ask for, in order (resolv.conf(5), `search` and `ndots`)."""
    try:
        name = names.from_text(host.lower())
    except BadName:
        return
    completed = [] if host.endswith(".") else [name[:-1] + domain for domain in resolver.search]
    as_it_is = host.endswith(".") or host.count(".") >= resolver.ndots
    for candidate in [name, *completed] if as_it_is else [*completed, name]:
        if len(candidate) <= names.MAX_NAME:
            yield candidate


async def _ask_all(name: bytes, servers: tuple[UpstreamAddress, ...]) -> Found:
    """What the first server says that says anything; empty if there is no such name or it has no address."""
    error = UpstreamError("no name servers")
    for _ in range(_PASSES):
        for server in servers:
            try:
                return await _ask(name, server)
            except UpstreamError as exc:
                error = exc
    raise error


async def _ask(name: bytes, server: UpstreamAddress) -> Found:
    unseen = SocketCache(Counter(), Counter())
    client = Client(server, None, ExchangeSettings(), unseen, unseen)
    try:
        outcomes = await asyncio.gather(
            *(client.ask(_question(name, rtype), _TRANSPORT) for rtype in _TYPES), return_exceptions=True
        )
    finally:
        client.close()
    addresses: list[str] = []
    ttls: list[int] = []
    errors: list[BaseException] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            errors.append(outcome)
        elif outcome.rcode in (consts.NOERROR, consts.NXDOMAIN):
            _collect(outcome, name, addresses, ttls)
        else:
            errors.append(UpstreamError(f"{server}: {consts.rcode_text(outcome.rcode)}"))
    if errors and not addresses:
        raise errors[0]
    return Found(_ordered(addresses), min(ttls, default=0))


def _collect(message: Message, name: bytes, addresses: list[str], ttls: list[int]) -> None:
    """Follow aliases from the name to the addresses in a reply."""
    for _ in range(_MAX_CHAIN):
        alias = None
        for record in message.answer:
            if record.owner.lower() != name or record.rclass != consts.CLASS_IN:
                continue
            if record.rtype == message.qtype and len(record.rdata) in (4, 16):
                addresses.append(addr.unpack(record.rdata))
                ttls.append(record.ttl)
            elif record.rtype == consts.TYPE_CNAME:
                alias = record.rdata.lower()
                ttls.append(record.ttl)
        if alias is None:
            return
        name = alias


def _question(name: bytes, rtype: int) -> Query:
    wire = make_query(0, consts.RD, name, rtype)
    return Query(wire, 0, consts.RD, name, rtype, consts.CLASS_IN)


def _in_hosts(host: str, text: str) -> list[str]:
    """Addresses of a name in the form of hosts(5)."""
    wanted = host.lower().removesuffix(".")
    found = []
    for line in text.splitlines():
        address, *known = line.partition("#")[0].split() or [""]
        packed = addr.pack(address)
        if packed is not None and any(wanted == name.lower().removesuffix(".") for name in known):
            found.append(addr.unpack(packed))
    return found


def _ordered(addresses: list[str]) -> tuple[str, ...]:
    """Without repetitions, and whatever order a server gives them in today."""
    return tuple(sorted(set(addresses), key=lambda text: (":" in text, text)))
