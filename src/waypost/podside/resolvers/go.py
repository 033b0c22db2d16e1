"""Go 1.27's own resolver: a goroutine for each type, a socket for each query, and no failure ends the search."""

from __future__ import annotations

import re

from waypost.podside.replies import Reply
from waypost.podside.resolvers import local
from waypost.podside.resolvers.conf import Conf, read_go
from waypost.podside.resolvers.lookup import Lookup, Outcome
from waypost.podside.resolvers.transcript import MAX_NAME, Send, Steps, Transcript, query_name

_HOST_NAME = re.compile(r"(?=[0-9.]*[A-Za-z_-])(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*"
                        r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?", re.ASCII)  # fmt: skip
_NO_SUCH_HOST = "no such host"
_FAILED = "server misbehaving"


class _Result:
    """The addresses of one name and type, or the error text."""

    __slots__ = ("addresses", "error")

    def __init__(self, addresses: tuple[str, ...] = (), error: str = "") -> None:
        self.addresses = addresses
        self.error = error


def resolve(lookup: Lookup, transcript: Transcript) -> Outcome:
    """Do what net.Resolver.LookupIP does."""
    address = local.strict_literal(lookup.name)
    if address is not None:
        return local.from_literal(address, lookup.types)
    if lookup.name != "." and (len(lookup.name.removesuffix(".")) > MAX_NAME or not _HOST_NAME.fullmatch(lookup.name)):
        return Outcome("nxdomain")
    if lookup.name.lower().removesuffix(".") == "localhost":
        return local.from_hosts(lookup.types)
    conf = read_go(lookup.resolv_conf, lookup.hostname)
    error = ""
    for name in _candidates(lookup.name, conf):
        steps = [_try(name, qtype, conf) for qtype in lookup.types]
        if "single-request" in conf.flags:
            results = [transcript.run(each) for each in steps]
        else:
            results = transcript.together(steps)
        addresses = tuple(address for result in results for address in result.addresses)
        if addresses:
            return Outcome("addresses", addresses, name)
        for result in results:
            if not error or name == f"{lookup.name.removesuffix('.')}.":  # the error of the name itself tells most
                error = result.error
    return Outcome("" if error == _FAILED else "nxdomain")


def _candidates(text: str, conf: Conf) -> list[str]:
    """The names to ask for. What ends in .onion never leaves (RFC 7686); too long ones are skipped."""
    if text.endswith("."):
        names = [text]
    else:
        own = f"{text}."
        suffixed = [own + domain for domain in conf.searches if len(own + domain) <= MAX_NAME + 1]
        names = [own, *suffixed] if text.count(".") >= conf.ndots else [*suffixed, own]
    return [name for name in names if not name.lower().endswith(".onion.")]


def _try(name: str, qtype: str, conf: Conf) -> Steps[_Result]:
    """One name and type: every server in each attempt, until one says yes or no."""
    if query_name(name) is None:
        return _Result(error=_FAILED)
    transport = "tcp" if "use-vc" in conf.flags else "udp"
    for _ in range(conf.attempts):
        for server in conf.servers:
            reply = yield Send(name, qtype, server, transport)
            if reply.tc:
                reply = yield Send(name, qtype, server, "tcp")
            if reply.rcode == "NXDOMAIN":
                return _Result(error=_NO_SUCH_HOST)
            if reply.rcode == "NOERROR" and not reply.is_lame(edns=True):
                return _of_records(reply, qtype)
    return _Result(error=_FAILED)


def _of_records(reply: Reply, qtype: str) -> _Result:
    addresses = tuple(record.data for record in reply.records if record.type == qtype)
    return _Result(addresses) if addresses else _Result(error=_NO_SUCH_HOST)
