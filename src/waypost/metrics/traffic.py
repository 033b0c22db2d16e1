"""CoreDNS's `coredns_dns_*` metrics, counted with one dict look-up a query."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from waypost.metrics.registry import Counter, Histogram, Registry
from waypost.wire import consts
from waypost.wire.query import Query

_SIZE_BOUNDS = (0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16000, 32000, 48000, 64000)
_DURATION_BOUNDS = tuple(0.00025 * 2**n for n in range(16))
_NAMED_TYPES = "A AAAA CNAME DNSKEY DS MX NSEC NSEC3 NS PTR RRSIG SOA SRV TXT HTTPS SVCB IXFR AXFR ANY"
_TYPE_LABELS = {consts.type_number(text): text for text in _NAMED_TYPES.split()}


class _Cells(NamedTuple):
    requests: Counter
    duration: Histogram
    request_size: Histogram
    response_size: Histogram
    responses: Counter


class Traffic:
    """The families of query traffic."""

    __slots__ = ("_do", "_duration", "_request_size", "_requests", "_response_size", "_responses")

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

    def meter(self, server: str, zone: str, view: str, plugin: str) -> Meter:
        """Counts the queries of one zone on one server; `plugin` is named where a plugin wrote the reply."""
        return Meter(self, (server, zone, view), plugin)

    def cells(
        self, where: tuple[str, str, str], datagram: bool, v6: bool, qtype: int, rcode: int, plugin: str
    ) -> _Cells:
        """The cells that a query with these labels counts in."""
        proto = "udp" if datagram else "tcp"
        family = "2" if v6 else "1"
        return _Cells(
            self._requests.labels(*where, proto, family, _TYPE_LABELS.get(qtype, "other")),
            self._duration.labels(*where),
            self._request_size.labels(*where, proto),
            self._response_size.labels(*where, proto),
            self._responses.labels(*where, consts.rcode_text(rcode), plugin),
        )

    def count_do(self, where: tuple[str, str, str]) -> None:
        """One query with the DO bit."""
        self._do.labels(*where).inc()


class Meter:
    """One zone's counters on one server; a query costs one dict look-up."""

    __slots__ = ("_cells", "_plugin", "_traffic", "_where")

    def __init__(self, traffic: Traffic, where: tuple[str, str, str], plugin: str) -> None:
        self._traffic = traffic
        self._where = where
        self._plugin = plugin
        self._cells: dict[int, _Cells] = {}

    def count(
        self, query: Query, datagram: bool, v6: bool, rcode: int, written: bool, response_size: int, seconds: float
    ) -> None:
        """One query, its reply's rcode and size in bytes, whether a plugin wrote it, and how long it took."""
        qtype = query.qtype if query.qtype in _TYPE_LABELS else 0
        code = qtype << 16 | rcode << 3 | datagram << 2 | v6 << 1 | written
        cells = self._cells.get(code)
        if cells is None:
            plugin = self._plugin if written else ""
            cells = self._cells[code] = self._traffic.cells(self._where, datagram, v6, qtype, rcode, plugin)
        cells.requests.value += 1
        cells.responses.value += 1
        if query.do:
            self._traffic.count_do(self._where)
        # Histogram.observe, spelled out: this is on the way of every query.
        request_size = len(query.wire)
        histogram = cells.duration
        histogram.counts[bisect_left(_DURATION_BOUNDS, seconds)] += 1
        histogram.total += seconds
        histogram = cells.request_size
        histogram.counts[bisect_left(_SIZE_BOUNDS, request_size)] += 1
        histogram.total += request_size
        histogram = cells.response_size
        histogram.counts[bisect_left(_SIZE_BOUNDS, response_size)] += 1
        histogram.total += response_size
