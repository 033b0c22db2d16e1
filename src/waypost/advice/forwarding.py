"""Advice on `forward` and `grpc`: whom they ask, how many at once, and what becomes of an upstream that is dead."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Final, NamedTuple

from waypost.advice.finding import NOTICE, WARNING, Remark, Rule
from waypost.advice.subject import Subject, Use
from waypost.corefile.addresses import is_ip, parse_ip, split_host_port
from waypost.corefile.model import Token

_DNS_PORT: Final = "53"
_ENCRYPTED: Final = ("tls", "https", "quic")
_LOW: Final = 100


class Upstream(NamedTuple):
    """An address among the TO arguments; an empty port is the scheme's."""

    token: Token
    scheme: str
    ip: IPv4Address | IPv6Address
    port: str
    server_name: str


def upstreams(use: Use) -> list[Upstream]:
    """The TO arguments that are addresses."""
    found = (_upstream(token) for token in use.args[1:])
    return [upstream for upstream in found if upstream is not None]


def files(use: Use) -> list[Token]:
    """The TO arguments that are paths of files in the form of resolv.conf."""
    return [token for token in use.args[1:] if "/" in token.text and "://" not in token.text]


def _upstream(token: Token) -> Upstream | None:
    scheme, separator, rest = token.text.partition("://")
    scheme, rest = (scheme, rest) if separator else ("", token.text)
    host, port = rest, ""
    if not is_ip(rest.partition("%")[0]) or ":" in rest.partition("%")[2]:
        try:
            host, port = split_host_port(rest)
        except ValueError:
            return None
    ip, _, name = host.partition("%")
    return Upstream(token, scheme, parse_ip(ip), port, name) if is_ip(ip) else None


def _is_loopback(text: str) -> bool:
    address = text.partition("%")[0]
    return is_ip(address) and parse_ip(address).is_loopback


def loopback(subject: Subject) -> Iterator[Remark]:
    """The pod itself, on the port of DNS or another that is served here."""
    served = {address.port for block in subject.blocks for _, address in block.addresses} | {_DNS_PORT}
    for _, use in subject.uses("forward", "grpc"):
        for upstream in upstreams(use):
            if upstream.ip.is_loopback and (upstream.port or _DNS_PORT) in served:
                yield Remark(upstream.token, f"'{upstream.token.text}' is a loopback address")
        for token in files(use):
            named = [server for server in subject.facts.resolvers.get(token.text, ()) if _is_loopback(server)]
            if named:
                yield Remark(token, f"{token.text} names the loopback address {named[0]}")


def loop_missing(subject: Subject) -> Iterator[Remark]:
    """Questions go to whomever a file names, and nothing looks for a loop."""
    for block, use in subject.uses("forward"):
        if files(use) and not block.has("loop"):
            yield Remark(use.name, f"questions go to the servers of {files(use)[0].text}, without `loop` in this block")


def single_upstream(subject: Subject) -> Iterator[Remark]:
    """One address and no other."""
    for _, use in subject.uses("forward", "grpc"):
        if len(use.args) == 2 and (found := upstreams(use)) and not found[0].ip.is_loopback:
            yield Remark(use.args[1], f"'{use.args[1].text}' is the only upstream")


def max_concurrent_low(subject: Subject) -> Iterator[Remark]:
    """A bound that ordinary load reaches."""
    for option, number in _max_concurrent(subject):
        if 0 < number < _LOW:
            yield Remark(option, f"max_concurrent is {number}")


def max_concurrent_absent(subject: Subject) -> Iterator[Remark]:
    """No bound at all."""
    for _, use in subject.uses("forward"):
        if not use.has("max_concurrent"):
            yield Remark(use.name, "`forward` has no max_concurrent")
    for option, number in _max_concurrent(subject):
        if number == 0:
            yield Remark(option, "max_concurrent 0 is no limit")


def _max_concurrent(subject: Subject) -> Iterator[tuple[Token, int]]:
    for _, use in subject.uses("forward"):
        option = use.last("max_concurrent")
        if option is not None and option.words and option.words[0].isascii() and option.words[0].isdigit():
            yield option.name, int(option.words[0][:18])


def never_down(subject: Subject) -> Iterator[Remark]:
    """An upstream is asked however dead it is."""
    for _, use in subject.uses("forward"):
        option = use.last("max_fails")
        if option is not None and option.words[:1] == ("0",) and len(use.args) > 2:
            yield Remark(option.name, "max_fails 0: no upstream is ever taken for down")


def private_and_public(subject: Subject) -> Iterator[Remark]:
    """Resolvers that know different names, one of which is picked for each question."""
    for _, use in subject.uses("forward"):
        policy = use.last("policy")
        if policy is not None and policy.words[:1] == ("sequential",):
            continue
        addresses = [upstream.ip for upstream in upstreams(use)]
        private = [ip for ip in addresses if ip.is_private]
        public = [ip for ip in addresses if ip.is_global]
        if private and public:
            yield Remark(use.name, f"{private[0]} is a private address and {public[0]} a public one")


def unnamed_certificate(subject: Subject) -> Iterator[Remark]:
    """An encrypted upstream of which nobody says what name its certificate has."""
    for _, use in subject.uses("forward"):
        if use.has("tls_servername"):
            continue
        for upstream in upstreams(use):
            if upstream.scheme in _ENCRYPTED and not upstream.server_name:
                yield Remark(upstream.token, f"no name is expected in the certificate of '{upstream.token.text}'")


def resolver_files(subject: Subject) -> tuple[str, ...]:
    """The files whose name servers the rules would like to know, as written."""
    return tuple(dict.fromkeys(token.text for _, use in subject.uses("forward") for token in files(use)))


RULES: Final = (
    Rule(
        "W001", WARNING, "forward to a loopback resolver",
        "In a pod, loopback is the pod itself: questions go round until memory is used up, or `loop` ends the process.",
        "Name the resolvers behind it, or give the kubelet `resolvConf: /run/systemd/resolve/resolv.conf`.",
        loopback,
    ),
    Rule(
        "W002", WARNING, "forward to the servers of a file, without `loop`",
        "The node's file can name the node's own stub or the cluster's DNS, now or after an update: a loop.",
        "Add `loop` to the block.",
        loop_missing,
    ),
    Rule(
        "W003", NOTICE, "a single upstream",
        "While it is away, nothing outside the cluster resolves.",
        "Add a second one, unless the address stands for several servers.",
        single_upstream,
    ),
    Rule(
        "W004", WARNING, "`max_concurrent` is low",
        "As many questions wait when one upstream is slow for a moment; what is above it is answered REFUSED.",
        "Take 1000 or more; a waiting question costs a few kilobytes.",
        max_concurrent_low,
    ),
    Rule(
        "W005", NOTICE, "no `max_concurrent`",
        "While upstreams are silent, waiting questions pile up until the memory limit ends the process.",
        "Write `max_concurrent 1000`.",
        max_concurrent_absent,
    ),
    Rule(
        "W006", WARNING, "`max_fails 0` with several upstreams",
        "Every question that goes to a dead one waits for its timeout.",
        "Delete the line (the default is 2).",
        never_down,
    ),
    Rule(
        "W007", WARNING, "private and public upstreams side by side",
        "One is picked for each question. A public resolver answers NXDOMAIN for your own names, and it is an answer.",
        "Give your own zones a block with the private resolvers, or write `policy sequential`.",
        private_and_public,
    ),
    Rule(
        "W008", NOTICE, "an encrypted upstream whose name nobody says",
        "Its certificate must then be good for the IP address, which few are.",
        "Write `tls_servername NAME`, or the name behind the address: `tls://9.9.9.9%dns.quad9.net`.",
        unnamed_certificate,
    ),
)  # fmt: skip
