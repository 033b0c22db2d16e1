"""CoreDNS's `coredns_dns_*` metrics, counted with one dict look-up a query.

On a query's way only a tuple of what its labels and sizes will be is counted; which cells that means is worked out when
somebody looks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import partial

from waypost.metrics.registry import Histogram, Registry
from waypost.wire import consts
from waypost.wire.query import Query

_SIZE_BOUNDS = (0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16000, 32000, 48000, 64000)
_DURATION_BOUNDS = tuple(0.00025 * 2**n for n in range(16))
QUICK = _DURATION_BOUNDS[0]
"""Up to so many seconds a query is in the first bucket of durations."""
_NAMED_TYPES = "A AAAA CNAME DNSKEY DS MX NSEC NSEC3 NS PTR RRSIG SOA SRV TXT HTTPS SVCB IXFR AXFR ANY"
_TYPE_LABELS = {consts.type_number(text): text for text in _NAMED_TYPES.split()}


# A client decides about types and sizes: before it makes more kinds of query than this, they are folded.
_MAX_KINDS = 4096


class Again:
    """Queries that were answered as one before was: how many, the seconds they took together, and each that was not
    `QUICK`."""

    __slots__ = ("seconds", "slow", "times")

    def __init__(self) -> None:
        self.times = 0
        self.seconds = 0.0
        self.slow: list[float] = []


class Traffic:
    """The families of query traffic; there is one in a registry (`Registry.shared`)."""

    __slots__ = ("_do", "_duration", "_meters", "_request_size", "_requests", "_response_size", "_responses")

    def __init__(self, registry: Registry) -> None:
        where = ("server", "zone", "view")
        self._requests = registry.counter(
            "coredns_dns_requests_total",
            "Counter of DNS requests made per zone, protocol and family.",
            (*where, "proto", "family", "type"),
        )
        self._do = registry.counter(
            "coredns_dns_do_requests_total", "Counter of DNS requests with DO bit set per zone.", where
        )
        self._duration = registry.histogram(
            "coredns_dns_request_duration_seconds",
            "Histogram of the time (in seconds) each request took per zone.",
            _DURATION_BOUNDS,
            where,
        )
        self._request_size = registry.histogram(
            "coredns_dns_request_size_bytes",
            "Size of the EDNS0 UDP buffer in bytes (64K for TCP) per zone and protocol.",
            _SIZE_BOUNDS,
            (*where, "proto"),
        )
        self._response_size = registry.histogram(
            "coredns_dns_response_size_bytes",
            "Size of the returned response in bytes.",
            _SIZE_BOUNDS,
            (*where, "proto"),
        )
        self._responses = registry.counter(
            "coredns_dns_responses_total",
            "Counter of response status codes.",
            (*where, "rcode", "plugin"),
        )
        self._meters: dict[tuple[str, str, str, str], Meter] = {}
        registry.before_scrape.append(self.fold)

    def meter(self, server: str, zone: str, view: str, plugin: str) -> Meter:
        """Counts the queries of one zone on one server; `plugin` is named where a plugin wrote the reply."""
        key = (server, zone, view, plugin)
        meter = self._meters.get(key)
        if meter is None:
            duration = self._duration.labels(server, zone, view)
            meter = self._meters[key] = Meter((server, zone, view), plugin, duration, self.fold)
        return meter

    def fold(self) -> None:
        """Bring what the meters have counted into the families; done before each scrape."""
        for meter in self._meters.values():
            for kind, times in meter.take().items():
                self._fold(meter, kind, times)

    def _fold(self, meter: Meter, kind: Kind, times: int) -> None:
        qtype, do, rcode, written, datagram, v6, request_size, response_size = kind
        where = meter.where
        proto = "udp" if datagram else "tcp"
        family = "2" if v6 else "1"
        self._requests.labels(*where, proto, family, _TYPE_LABELS.get(qtype, "other")).inc(times)
        self._responses.labels(*where, consts.rcode_text(rcode), meter.plugin if written else "").inc(times)
        if do:
            self._do.labels(*where).inc(times)
        self._request_size.labels(*where, proto).observe(request_size, times)
        self._response_size.labels(*where, proto).observe(response_size, times)


Kind = tuple[int, bool, int, bool, bool, bool, int, int]
"""What distinguishes queries in the metrics: qtype, DO, rcode, whether a plugin wrote the reply, datagram, IPv6, and
the sizes of query and reply in bytes."""


class Meter:
    """One zone's queries on one server, counted with one dict look-up each."""

    __slots__ = ("_counts", "_duration", "_fold", "_repeats", "plugin", "where")

    def __init__(self, where: tuple[str, str, str], plugin: str, duration: Histogram, fold: Callable[[], None]) -> None:
        self.where = where
        self.plugin = plugin
        self._counts: dict[Kind, int] = {}
        self._duration = duration
        self._fold = fold
        self._repeats: dict[Kind, Callable[[Again], None]] = {}

    def count(
        self, query: Query, datagram: bool, v6: bool, rcode: int, written: bool, response_size: int, seconds: float
    ) -> Kind:
        """One query, its reply's rcode and size in bytes, whether a plugin wrote it, and how long it took."""
        opt = query.opt
        do = opt is not None and opt.do
        kind = (query.qtype, do, rcode, written, datagram, v6, len(query.wire), response_size)
        counts = self._counts
        times = counts.get(kind)
        if times is None:
            if len(counts) >= _MAX_KINDS:
                self._fold()
                counts = self._counts
            times = 0
        counts[kind] = times + 1
        duration = self._duration
        duration.counts[bisect_left(_DURATION_BOUNDS, seconds)] += 1
        duration.total += seconds
        return kind

    def repeat(self, kind: Kind) -> Callable[[Again], None]:
        """Counts more queries of a kind."""
        repeat = self._repeats.get(kind)
        if repeat is None:
            if len(self._repeats) >= _MAX_KINDS:
                self._repeats.clear()
            repeat = self._repeats[kind] = partial(self._repeat, kind)
        return repeat

    def _repeat(self, kind: Kind, again: Again) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + again.times
        duration = self._duration
        duration.counts[0] += again.times - len(again.slow)
        for seconds in again.slow:
            duration.counts[bisect_left(_DURATION_BOUNDS, seconds)] += 1
        duration.total += again.seconds

    def take(self) -> dict[Kind, int]:
        """What was counted since the last time."""
        counts, self._counts = self._counts, {}
        return counts
