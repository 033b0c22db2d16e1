"""What a cascade should tell its reader: a cheaper spelling of the name, another ndots and its price, traps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from waypost.podside.cascade import Cascade, cascade
from waypost.podside.policy import byte_length
from waypost.podside.replies import Record, Reply, Zone
from waypost.podside.resolvers.conf import Conf, read_cares, read_glibc, read_go, read_musl
from waypost.podside.resolvers.lookup import Lookup

_CLUSTER_NAME = re.compile(r"(?P<service>.+)\.(?P<namespace>[^.]+)\.(?P<rest>svc\..+)\.")
_MUSL_LINE: Final = 254
_DOCUMENTATION_ADDRESS: Final = "192.0.2.1"


def advise(lookup: Lookup, resolver: str, made: Cascade) -> list[str]:
    """Sentences for the user, the most useful first; none when there is nothing to gain."""
    advice = list(_traps(lookup, resolver))
    if lookup.name.endswith("."):  # no other spelling is cheaper: what is wasted was lost or sent again
        return advice
    if made.result == "addresses" and made.wasted:
        advice += _cheaper(lookup, resolver, made)
    elif made.result in ("nxdomain", "nodata") and made.wasted and "." in lookup.name:
        own = f"{lookup.name.removesuffix('.')}."
        count = len(cascade(replace(lookup, name=own), resolver, Zone({})).queries)
        advice.append(f"if {own} is the whole name, write the final dot: {_instead(count, made)}")
    return advice


def existing(name: str, addresses: tuple[str, ...] = (_DOCUMENTATION_ADDRESS,)) -> Zone:
    """A world in which only this name exists."""
    replies = {}
    for qtype in ("A", "AAAA"):
        fitting = (address for address in addresses if (":" in address) == (qtype == "AAAA"))
        replies[f"{name.lower()}/{qtype}"] = (Reply("NOERROR", tuple(Record(qtype, address) for address in fitting)),)
    return Zone(replies)


def read_conf(lookup: Lookup, resolver: str) -> Conf:
    """The file as this resolver understands it."""
    if resolver == "glibc":
        return read_glibc(lookup.resolv_conf, lookup.hostname, lookup.env)
    if resolver == "musl":
        return read_musl(lookup.resolv_conf)
    return (read_go if resolver == "go" else read_cares)(lookup.resolv_conf, lookup.hostname)


def _cheaper(lookup: Lookup, resolver: str, made: Cascade) -> Iterator[str]:
    """Spellings of the name that was found, and an ndots under which it is asked first."""
    conf = read_conf(lookup, resolver)

    def cost(name: str, ndots: int | None = None) -> int:
        changed = replace(lookup, name=name)
        if ndots is not None:
            changed = replace(changed, resolv_conf=f"{lookup.resolv_conf.rstrip()}\noptions ndots:{ndots}\n")
        return len(cascade(changed, resolver, existing(made.name, made.addresses)).queries)

    yield f"write {made.name} with the final dot: {_instead(cost(made.name), made)}"
    short = _short_name(made.name, conf)
    if short and short != lookup.name and (count := cost(short)) < len(made.queries):
        yield f"or {short}, which no change of the cluster domain breaks: {_instead(count, made)}"
    dots = lookup.name.count(".")
    if made.name == f"{lookup.name}." and dots < conf.ndots:
        yield f"or dnsConfig options ndots:{dots}: {_instead(cost(lookup.name, dots), made)}; {_price(dots, resolver)}"


def _short_name(name: str, conf: Conf) -> str:
    """`<service>` from its own namespace, `<service>.<namespace>` from another; empty for names outside the cluster."""
    found = _CLUSTER_NAME.fullmatch(name)
    searches = [domain.removesuffix(".") for domain in conf.searches]
    if not found or found["rest"] not in searches:
        return ""
    own = searches[0] == f"{found['namespace']}.{found['rest']}"
    return found["service"] if own else f"{found['service']}.{found['namespace']}"


def _price(dots: int, resolver: str) -> str:
    """What a lower ndots costs the names that need the search list."""
    example = {0: "every Service name", 1: "<service>.<namespace>", 2: "<service>.<namespace>.svc"}
    names = example.get(dots, f"a name with {dots} dots or more")
    if resolver == "musl":
        return f"but musl then never tries {names} with the search list"
    return f"but {names} is then asked as it is first, one more query of each type"


def _traps(lookup: Lookup, resolver: str) -> Iterator[str]:
    conf = read_conf(lookup, resolver)
    if conf.attempts <= 0 and resolver in ("glibc", "musl"):
        end = "fails without a query" if resolver == "glibc" else "dies of a division by zero"
        yield f"attempts:0: {resolver} {end}"
    if resolver != "musl":
        return
    if conf.timeout == 0:
        yield "timeout:0: musl fails without a query"
    for line in lookup.resolv_conf.split("\n"):
        if byte_length(line) > _MUSL_LINE:
            keyword = line.split()[0] if line.split() else "a blank"
            yield f"musl ignores the {keyword} line: it is longer than {_MUSL_LINE} bytes"
    if not lookup.name.endswith(".") and lookup.name.count(".") >= conf.ndots and conf.searches:
        yield f"musl does not use the search list for a name with {conf.ndots} or more dots"


def _instead(count: int, made: Cascade) -> str:
    return f"{count} {'query' if count == 1 else 'queries'} instead of {len(made.queries)}"
