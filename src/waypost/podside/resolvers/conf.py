"""How the four stub resolvers read the same resolv.conf(5), each in its own way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from waypost.podside.resolvers.local import inet_aton, ipv6, libc_literal, strict_literal

_MAX_SERVERS: Final = 3
_MAX_NDOTS: Final = 15
_BLANKS: Final = " \t"
_INTEGER = re.compile(r"[ \t]*([+-]?[0-9]{1,9})", re.ASCII)
_GLIBC_FLAGS: Final = (
    "rotate", "edns0", "single-request-reopen", "single-request", "no-tld-query", "no_tld_query", "use-vc", "no-aaaa",
)  # fmt: skip
_GO_FLAGS: Final = {
    "rotate": "rotate",
    "single-request": "single-request",
    "single-request-reopen": "single-request",
    "use-vc": "use-vc",
    "usevc": "use-vc",
    "tcp": "use-vc",
}
_MUSL_LINE: Final = 255
"""Bytes of a line with its newline that musl's buffer takes."""
_CARES_SEARCH: Final = 511


@dataclass(frozen=True, slots=True)
class Conf:
    """What a resolver takes from the file; `timeout` in seconds for each try."""

    servers: tuple[str, ...] = ("127.0.0.1",)
    searches: tuple[str, ...] = ()
    ndots: int = 1
    timeout: int = 5
    attempts: int = 2
    flags: frozenset[str] = frozenset()


def read_glibc(text: str, hostname: str, env: Mapping[str, str]) -> Conf:
    """glibc 2.36: keywords in column 0 only; RES_OPTIONS follows the file, LOCALDOMAIN replaces its search list."""
    servers: list[str] = []
    searches: list[str] | None = _split(env["LOCALDOMAIN"]) if "LOCALDOMAIN" in env else None
    options: list[str] = []
    for line in text.split("\n"):
        keyword, rest = _keyword(line)
        if keyword == "nameserver":
            server = re.split("[;# \t]", rest, maxsplit=1)[0]
            if address := inet_aton(server) or ipv6(server):
                servers.append(address)
        elif keyword in ("search", "domain") and rest and "LOCALDOMAIN" not in env:
            searches = _split(rest) if keyword == "search" else _split(rest)[:1]
        elif keyword == "options":
            options += _split(rest)
    options += _split(env.get("RES_OPTIONS", ""))
    numbers = {"ndots": 1, "timeout": 5, "attempts": 2}
    flags = set()
    for option in options:
        name, colon, value = option.partition(":")
        if colon and name in numbers:
            numbers[name] = _integer(value)
        flags.update([flag for flag in _GLIBC_FLAGS if option.startswith(flag)][:1])
    return Conf(
        tuple(servers[:_MAX_SERVERS]) or ("127.0.0.1",),
        tuple(_of_hostname(hostname) if searches is None else searches),
        min(numbers["ndots"], _MAX_NDOTS) & _MAX_NDOTS,  # a field of four bits
        min(numbers["timeout"], 30),
        min(numbers["attempts"], 5),
        frozenset(flag.replace("_", "-") for flag in flags),
    )


def read_musl(text: str) -> Conf:
    """musl 1.2.5: a line longer than its buffer is dropped whole; of equal options on a line the first counts."""
    servers: list[str] = []
    searches: tuple[str, ...] = ()
    numbers = {"ndots": 1, "attempts": 2, "timeout": 5}
    for line in re.findall("[^\n]*\n|[^\n]+", text):
        if len(line.encode("utf-8", "surrogateescape")) > _MUSL_LINE - (not line.endswith("\n")):
            continue
        keyword = re.match(r"(options|nameserver|search|domain)[ \t\v\f\r\n]", line)
        if keyword is None:
            continue
        rest = line[keyword.end() :]
        if keyword[1] == "options":
            for name in numbers:
                if found := re.search(rf"{name}:([0-9]+)", line, re.ASCII):  # wherever it stands
                    numbers[name] = int(found[1][:9])
        elif keyword[1] == "nameserver":
            address = libc_literal((rest.split() or [""])[0])
            if address is not None and len(servers) < _MAX_SERVERS:
                servers.append(address)
        else:
            searches = tuple(rest.split())
    return Conf(
        tuple(servers) or ("127.0.0.1",),
        searches,
        min(numbers["ndots"], _MAX_NDOTS),
        min(numbers["timeout"], 60),
        min(numbers["attempts"], 10),
    )


def read_go(text: str, hostname: str) -> Conf:
    """Go 1.27's own resolver: blanks before a keyword are allowed, comments start in column 0 only."""
    servers: list[str] = []
    searches: list[str] = []
    numbers = {"ndots": 1, "timeout": 5, "attempts": 2}
    flags = set()
    for line in text.split("\n"):
        keyword, *values = _words(line, "[^ \t\r\n]+")
        if keyword == "nameserver" and values and len(servers) < _MAX_SERVERS:
            servers += values[:1] if strict_literal(values[0]) else []
        elif keyword == "domain" and values:
            searches = values[:1]
        elif keyword == "search":
            searches = [value for value in values if value != "."]
        elif keyword == "options":
            for option in values:
                name, colon, value = option.partition(":")
                if colon and name in numbers:
                    numbers[name] = max(_integer(value) if value[:1].isdigit() else 0, 0)
                elif option in _GO_FLAGS:
                    flags.add(_GO_FLAGS[option])
    return Conf(
        tuple(servers) or ("127.0.0.1", "::1"),
        tuple(_rooted(searches or _of_hostname(hostname))),
        min(numbers["ndots"], _MAX_NDOTS),
        max(numbers["timeout"], 1),
        max(numbers["attempts"], 1),
        frozenset(flags),
    )


def read_cares(text: str, hostname: str) -> Conf:
    """c-ares 1.34: every name server counts, ndots is not capped, zeros are ignored; two seconds and three tries."""
    servers: list[str] = []
    searches: list[str] | None = None
    numbers = {"ndots": 1, "timeout": 2, "attempts": 3}
    aliases = {"retrans": "timeout", "retry": "attempts"}
    flags = set()
    for line in text.split("\n"):
        keyword, *values = _words(line, r"\S+")
        if keyword == "nameserver" and values:
            servers += values[:1] if strict_literal(values[0]) else []
        elif keyword in ("search", "domain") and values and len(" ".join(values)) <= _CARES_SEARCH:
            searches = values if keyword == "search" else values[:1]
        elif keyword == "options":
            for option in values:
                name, colon, value = option.partition(":")
                name = aliases.get(name, name)
                if colon and name in numbers and (_integer(value) > 0 or name == "ndots"):
                    numbers[name] = max(_integer(value), 0)
                elif option in ("rotate", "use-vc", "usevc"):
                    flags.add("use-vc" if option != "rotate" else option)
    return Conf(
        tuple(servers) or ("127.0.0.1",),
        tuple(_of_hostname(hostname) if searches is None else searches),
        numbers["ndots"],
        numbers["timeout"],
        numbers["attempts"],
        frozenset(flags),
    )


def _keyword(line: str) -> tuple[str, str]:
    """The word in column 0 and what follows it behind blanks; no word if none follows it."""
    found = re.match("([a-z]+)[ \t]+(.*)", line, re.DOTALL)
    return (found[1], found[2]) if found else ("", "")


def _words(line: str, pattern: str) -> list[str]:
    """The words of a line, at least an empty one; a comment has none."""
    return ([] if line[:1] in (";", "#") else re.findall(pattern, line)) or [""]


def _split(text: str) -> list[str]:
    return [word for word in re.split(f"[{_BLANKS}]", text) if word]


def _integer(text: str) -> int:
    """atoi(3): leading digits, 0 without any."""
    found = _INTEGER.match(text)
    return int(found[1]) if found else 0


def _of_hostname(hostname: str) -> list[str]:
    """The search list of a host that has none: what follows the first dot of its name."""
    domain = hostname.partition(".")[2]
    return [domain] if domain else []


def _rooted(domains: Iterable[str]) -> list[str]:
    return [domain if domain.endswith(".") else f"{domain}." for domain in domains]
