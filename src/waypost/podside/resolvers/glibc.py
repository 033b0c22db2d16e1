"""glibc 2.36's getaddrinfo: the walk along the search list. What happens to one name is in `glibc_send`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from waypost.podside.resolvers import local
from waypost.podside.resolvers.conf import Conf, read_glibc
from waypost.podside.resolvers.glibc_send import Errno, Sender, Verdict
from waypost.podside.resolvers.lookup import Lookup, Outcome
from waypost.podside.resolvers.transcript import Transcript, addresses_of

_HOST_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*", re.ASCII)
_RESULTS = {Errno.TRY_AGAIN: "", Errno.NO_DATA: "nodata"}


def resolve(lookup: Lookup, transcript: Transcript) -> Outcome:
    """Do what getaddrinfo does, /etc/hosts first."""
    address = local.libc_literal(lookup.name)
    if address is not None:
        return local.from_literal(address, lookup.types)
    if lookup.name.lower() == "localhost":
        return local.from_hosts(lookup.types)
    if not _HOST_NAME.fullmatch(lookup.name):
        return Outcome("nxdomain")
    conf = read_glibc(lookup.resolv_conf, lookup.hostname, lookup.env)
    return _outcome(lookup, _Search(lookup.name, conf, Sender(conf, lookup, transcript)).run())


class _Search:
    """res_search: the name as it is before or behind the search list, by ndots."""

    def __init__(self, name: str, conf: Conf, sender: Sender) -> None:
        self._name = name
        self._conf = conf
        self._sender = sender
        self._root_asked = False

    def run(self) -> Verdict:
        """The verdict that the caller gets: the name's own if it was asked first."""
        rooted = self._name.endswith(".")
        dots = self._name.count(".")
        as_it_is = self._sender.query(self._name) if rooted or dots >= self._conf.ndots else None
        if as_it_is is not None and (rooted or as_it_is.error is Errno.SUCCESS):
            return as_it_is
        failures = []
        for verdict in self._walk():
            if verdict.error is Errno.SUCCESS or verdict.refused:
                return verdict
            failures.append(verdict)
        if as_it_is is not None:
            return as_it_is
        stays_below = dots == 0 and self._conf.searches and "no-tld-query" in self._conf.flags
        if not stays_below and not self._root_asked:
            failures.append(self._sender.query(self._name))
        return _summary(failures)

    def _walk(self) -> Iterator[Verdict]:
        """The verdicts of the domains in order, up to the one that ends the walk."""
        for domain in self._conf.searches:
            suffix = domain.removeprefix(".")
            self._root_asked = self._root_asked or not suffix
            verdict = self._sender.query(f"{self._name}.{suffix}" if suffix else self._name)
            yield verdict
            if not (verdict.error in (Errno.HOST_NOT_FOUND, Errno.NO_DATA) or verdict.is_servfail):
                return


def _summary(failures: list[Verdict]) -> Verdict:
    """NODATA seen on the way counts most, then SERVFAIL, then the last."""
    if failures[-1].error is Errno.SUCCESS:
        return failures[-1]
    nodata = [verdict for verdict in failures[:-1] if verdict.error is Errno.NO_DATA]
    servfail = [verdict for verdict in failures[:-1] if verdict.is_servfail]
    return (nodata or servfail or failures[-1:])[0]


def _outcome(lookup: Lookup, verdict: Verdict) -> Outcome:
    if verdict.error is not Errno.SUCCESS:
        return Outcome(_RESULTS.get(verdict.error, "nxdomain"))
    addresses = addresses_of(verdict.pair)
    if addresses:
        return Outcome("addresses", addresses, verdict.name)
    return Outcome("nodata" if lookup.family == "inet" else "nxdomain", (), verdict.name)  # a CNAME to nowhere
