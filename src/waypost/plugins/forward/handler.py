"""What forward does with a query."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED, UNASKED
from waypost.plugins.forward.ahead import Found, road_of
from waypost.plugins.forward.metrics import ForwardMetrics
from waypost.plugins.forward.taps import tell_taps
from waypost.toolkit.exchange import Transport
from waypost.toolkit.upstream_address import DNS
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstream_group import Upstream
from waypost.toolkit.upstream_tap import UpstreamTap
from waypost.toolkit.upstreams import Answered, Failed, Result, Selection
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.names import ROOT, is_within, to_text
from waypost.wire.reply import Reply, copied_flags, failure

# The header bits of a reply without QR, opcode and rcode.
_FLAGS = consts.AA | consts.TC | consts.RD | consts.RA | consts.Z | consts.AD | consts.CD


@dataclass(frozen=True, slots=True)
class Rules:
    """Which queries are forwarded and how, and which replies are not the last word.

    `origin` and `excluded` are zones in wire form, lower case; `max_concurrent` 0 is no limit.
    """

    origin: bytes
    excluded: tuple[bytes, ...] = ()
    force_tcp: bool = False
    prefer_udp: bool = False
    max_concurrent: int = 0
    next_rcodes: frozenset[int] = frozenset()
    next_on_nodata: bool = False

    @property
    def told(self) -> str:
        """Which names are forwarded, for an explanation."""
        excluded = f" except {' '.join(map(to_text, self.excluded))}" if self.excluded else ""
        return f"it forwards {to_text(self.origin)}{excluded}"


class Forward:
    """One forward line. Queries it is not meant for go to the next plugin, which may be another forward."""

    name = "forward"
    sends_ahead = True
    next: Handler

    def __init__(
        self, rules: Rules, selection: Selection, metrics: ForwardMetrics, taps: Sequence[UpstreamTap] = ()
    ) -> None:
        self._rules = rules
        self._selection = selection
        self._metrics = metrics
        self._taps = taps
        self._everything = rules.origin == ROOT and not rules.excluded
        self._busy = 0
        self._for_datagrams = Transport(stream=rules.force_tcp, retry_truncated=rules.prefer_udp)
        self._for_streams = Transport(rules.force_tcp or not rules.prefer_udp, retry_truncated=rules.prefer_udp)
        self._may_pass_on = bool(rules.next_rcodes) or rules.next_on_nodata
        self._ahead = not (self._may_pass_on or self._taps or rules.force_tcp or rules.prefer_udp)
        self.cuts = (rules.origin, *rules.excluded)

    def serve(self, request: Request) -> Outcome:
        """The upstream's reply, later."""
        if self._everything or self._covers(request.query.name):
            return self._forward(request)
        if request.trace is not None:
            request.note(self.name, f"this forward is not for the name: {self._rules.told}", PASSED)
        return self.next.serve(request)

    def set_out(self) -> Upstream | None:
        """Whom a query is sent to that goes ahead of the chain; None if it must not."""
        limit = self._rules.max_concurrent
        if limit and self._busy >= limit:
            return None
        upstream = self._selection.set_out()
        if upstream is not None:
            self._busy += 1
        return upstream

    def arrive(self) -> None:
        """A query that had gone ahead has its outcome."""
        self._busy -= 1
        self._selection.arrive()

    def _covers(self, name: bytes) -> bool:
        rules = self._rules
        if rules.origin != ROOT and not is_within(name, rules.origin):
            return False
        if name == rules.origin:
            return True
        return not any(is_within(name, zone) for zone in rules.excluded)

    def _forward(self, request: Request) -> Outcome:
        trace = request.trace
        if trace is not None and trace.offline:
            request.note(self.name, f"would ask one of the upstreams {self._selection.told}", UNASKED)
            return failure(consts.SERVFAIL)
        given = request.given
        if isinstance(given, Found) and given.plugin is self:
            return self._found(request, given)
        limit = self._rules.max_concurrent
        if limit and self._busy >= limit:
            self._metrics.rejects.inc()
            request.note(self.name, f"refused: {limit} queries are under way (max_concurrent)", ANSWERED)
            return failure(consts.REFUSED, f"concurrent queries exceeded maximum {limit}")
        self._busy += 1
        asked = time.time_ns() if self._taps else 0
        transport = self._for_datagrams if request.datagram else self._for_streams
        if request.repeats is not None and self._ahead:
            request.road = road_of(self, request.query)
        tell = None if trace is None else partial(request.note, self.name)
        pending = self._selection.ask(request.query, transport, tell)
        return pending.then(partial(self._answered, request, transport, asked))

    def _found(self, request: Request, found: Found) -> Outcome:
        """What came of a query that went ahead; if it failed, the next upstream is asked."""
        request.given = None
        self._busy += 1
        transport, result = self._for_datagrams, found.result
        if not isinstance(result, UpstreamError):
            return self._answered(request, transport, 0, Answered(result, found.upstream))
        pending = self._selection.carry_on(request.query, transport, Failed(found.upstream, result, found.seconds))
        return pending.then(partial(self._answered, request, transport, 0))

    def _answered(self, request: Request, transport: Transport, asked: int, result: Result) -> Outcome:
        self._busy -= 1
        if isinstance(result, UpstreamError):
            return self._failed(request, result)
        message = result.message
        if request.trace is not None or request.metadata is not None:
            _tell(request, result, transport)
        reply = _reply(message)
        reply.steady = self
        if self._taps:
            tell_taps(self._taps, request, result, transport, asked, reply)
        if self._may_pass_on and self._passes_on(message):
            request.note(self.name, "the next forward is asked to do better", PASSED)
            return self.next.serve(request)
        return reply

    def _failed(self, request: Request, error: UpstreamError) -> Reply:
        if isinstance(error, Mismatch):
            request.note(self.name, f"the reply fits no question that was asked: {error}", ANSWERED)
            return Reply(consts.FORMERR, copied_flags(request.query))
        if request.trace is not None:
            request.note(self.name, f"no upstream answered: {error}", ANSWERED)
        return failure(consts.SERVFAIL, str(error))

    def _passes_on(self, message: Message) -> bool:
        """True if another forward shall try to do better; only a forward right behind this one can."""
        rules = self._rules
        nodata = rules.next_on_nodata and message.rcode == consts.NOERROR and not message.answer
        return (nodata or message.rcode in rules.next_rcodes) and isinstance(self.next, Forward)


def _tell(request: Request, answered: Answered, transport: Transport) -> None:
    """Leave word of who answered: for `metadata`, and for an explanation."""
    text = answered.upstream.text
    if request.metadata is not None:
        request.metadata["forward/upstream"] = lambda: text
    if request.trace is not None:
        scheme = answered.upstream.address.scheme
        protocol = scheme if scheme != DNS else "tcp" if transport.stream else "udp"
        rcode = consts.rcode_text(answered.message.rcode)
        request.note("forward", f"upstream {text} over {protocol} answered {rcode}", ANSWERED, text)


def _reply(message: Message) -> Reply:
    """What an upstream's message says."""
    flags = message.flags & _FLAGS
    return Reply(message.rcode, flags, message.answer, message.authority, message.additional, message.opt)
