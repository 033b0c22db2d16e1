"""Asks resolvers from here, over UDP and TCP, and takes the time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Final

import dns.asyncquery
import dns.exception
import dns.message
import dns.rcode

from waypost.diagnosis.facts import NodeText, Probe, Probes
from waypost.diagnosis.finding import Gap, Maybe
from waypost.diagnosis.kubelets import DEFAULT_RESOLV_CONF as RESOLV_CONF
from waypost.podside.nodefile import NodeFileError, parse
from waypost.toolkit.upstream_address import DNS, TLS, UpstreamAddress, parse_upstream

_ROOT: Final = "."
_PLAIN: Final = ("UDP", "TCP")
_TRANSPORTS: Final = {DNS: _PLAIN, TLS: ("TLS",)}


async def ask_upstreams(
    words: Iterable[str], files: Mapping[str, str], resolv_conf: Maybe[NodeText], seconds: float
) -> Probes:
    """Each upstream is asked for the root's name servers. `words` are TO arguments, `files` those of the pod.

    `resolv_conf` is the one that the DNS pods have.
    """
    addresses: dict[str, UpstreamAddress] = {}
    unasked: list[str] = []
    for word in dict.fromkeys(words):
        for text in _expanded(word, files, resolv_conf, unasked):
            try:
                address = parse_upstream(text, "forward")
            except ValueError as error:
                unasked.append(str(error))
                continue
            if address is None or not address.port:
                unasked.append(f"{text}: no IP address and port")
            elif address.scheme not in _TRANSPORTS:
                unasked.append(f"{text}: upstreams of scheme {address.scheme} are not asked")
            else:
                addresses.setdefault(f"{address.scheme}://{address}", address)
    asked = [
        _ask(address, transport, _ROOT, "NS", seconds)
        for address in addresses.values()
        for transport in _TRANSPORTS[address.scheme]
    ]
    return Probes(tuple(await asyncio.gather(*asked)), tuple(unasked))


async def ask_service(addresses: Iterable[str], name: str, seconds: float, port: int = 53) -> Probes:
    """The DNS Service's addresses are asked for the address of a name."""
    asked = [
        _ask(UpstreamAddress(address, port), transport, name, "A", seconds)
        for address in addresses
        for transport in _PLAIN
    ]
    return Probes(tuple(await asyncio.gather(*asked)))


def _expanded(word: str, files: Mapping[str, str], resolv_conf: Maybe[NodeText], unasked: list[str]) -> list[str]:
    """The name servers of a file, or the word itself."""
    if not word.startswith("/"):
        return [word]
    text = files.get(word)
    if text is None and word == RESOLV_CONF and not isinstance(resolv_conf, Gap):
        text = resolv_conf.text
    if text is None:
        reason = f": {resolv_conf.reason}" if word == RESOLV_CONF and isinstance(resolv_conf, Gap) else ""
        unasked.append(f"{word} of the DNS pods is not at hand{reason}")
        return []
    try:
        return list(parse(text).nameservers)
    except NodeFileError as error:
        unasked.append(f"{word}: {error.reason}")
        return []


async def _ask(address: UpstreamAddress, transport: str, name: str, type_: str, seconds: float) -> Probe:
    query = dns.message.make_query(name, type_)
    started = time.monotonic()
    host = f"{address.ip}%{address.scope}" if address.scope else address.ip
    rcode = error = ""
    try:
        async with asyncio.timeout(seconds):
            response = await _exchange(query, host, address, transport, seconds)
        rcode = dns.rcode.to_text(response.rcode())
    except (TimeoutError, dns.exception.Timeout):
        error = "no answer"
    except (OSError, EOFError, ValueError) as exc:
        error = (getattr(exc, "strerror", None) or str(exc) or type(exc).__name__).lower()
    except dns.exception.DNSException as exc:
        error = f"not an answer: {exc}"
    return Probe(str(address), transport, time.monotonic() - started, rcode, error)


async def _exchange(
    query: dns.message.QueryMessage, host: str, address: UpstreamAddress, transport: str, seconds: float
) -> dns.message.Message:
    if transport == "TLS":
        name = address.server_name or None
        return await dns.asyncquery.tls(query, host, seconds, address.port, server_hostname=name)
    if transport == "TCP":
        return await dns.asyncquery.tcp(query, host, seconds, address.port)
    return await dns.asyncquery.udp(query, host, seconds, address.port, ignore_unexpected=True)
