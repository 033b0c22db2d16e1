"""CoreDNS's `coredns_dns_*` metrics, counted with one dict look-up a query."""

from __future__ import annotations

from typing import NamedTuple

from waypost.metrics.registry import Counter, Histogram, Registry
from waypost.wire import consts

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

    __slots__ = ("_cells", "_do", "_duration", "_request_size", "_requests", "_response_size", "_responses")

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
        self._cells: dict[tuple[object, ...], _Cells] = {}

    def count(
        self,
        where: tuple[str, str, str],
        datagram: bool,
        v6: bool,
        qtype: int,
        do: bool,
        rcode: int,
        plugin: str,
        sizes: tuple[int, int],
        seconds: float,
    ) -> None:
        """One query: where = (server, zone, view); sizes of request and response in bytes."""
        key = (where, datagram, v6, qtype if qtype in _TYPE_LABELS else 0, rcode, plugin)
        cells = self._cells.get(key)
        if cells is None:
            cells = self._cells[key] = self._make(where, datagram, v6, qtype, rcode, plugin)
        cells.requests.value += 1
        if do:
            self._do.labels(*where).value += 1
        cells.duration.observe(seconds)
        cells.request_size.observe(sizes[0])
        cells.response_size.observe(sizes[1])
        cells.responses.value += 1

    def _make(
        self, where: tuple[str, str, str], datagram: bool, v6: bool, qtype: int, rcode: int, plugin: str
    ) -> _Cells:
        proto = "udp" if datagram else "tcp"
        family = "2" if v6 else "1"
        return _Cells(
            self._requests.labels(*where, proto, family, _TYPE_LABELS.get(qtype, "other")),
            self._duration.labels(*where),
            self._request_size.labels(*where, proto),
            self._response_size.labels(*where, proto),
            self._responses.labels(*where, consts.rcode_text(rcode), plugin),
        )
