"""What forward does with a query."""

from __future__ import annotations

from dataclasses import dataclass

from waypost.dispatch.handler import Handler, Outcome, settled
from waypost.dispatch.request import Request
from waypost.plugins.forward.metrics import ForwardMetrics
from waypost.toolkit.exchange import Transport
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstreams import Answered, Selection
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.names import ROOT, is_within
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


class Forward:
    """One forward line. Queries it is not meant for go to the next plugin, which may be another forward."""

    name = "forward"
    next: Handler

    def __init__(self, rules: Rules, selection: Selection, metrics: ForwardMetrics) -> None:
        self._rules = rules
        self._selection = selection
        self._metrics = metrics
        self._busy = 0
        self._for_datagrams = Transport(stream=rules.force_tcp, retry_truncated=rules.prefer_udp)
        self._for_streams = Transport(rules.force_tcp or not rules.prefer_udp, retry_truncated=rules.prefer_udp)
        self._may_pass_on = bool(rules.next_rcodes) or rules.next_on_nodata

    def serve(self, request: Request) -> Outcome:
        """The upstream's reply, later."""
        return self._forward(request) if self._covers(request.query.name) else self.next.serve(request)

    def _covers(self, name: bytes) -> bool:
        rules = self._rules
        if rules.origin != ROOT and not is_within(name, rules.origin):
            return False
        if name == rules.origin:
            return True
        return not any(is_within(name, zone) for zone in rules.excluded)

    async def _forward(self, request: Request) -> Reply:
        limit = self._rules.max_concurrent
        if limit and self._busy >= limit:
            self._metrics.rejects.inc()
            return failure(consts.REFUSED, f"concurrent queries exceeded maximum {limit}")
        self._busy += 1
        transport = self._for_datagrams if request.datagram else self._for_streams
        try:
            answered = await self._selection.ask(request.query, transport)
        except Mismatch as exc:
            request.note(f"forward: {exc}: FORMERR")
            return Reply(consts.FORMERR, copied_flags(request.query))
        except UpstreamError as exc:
            return failure(consts.SERVFAIL, str(exc))
        finally:
            self._busy -= 1
        message = answered.message
        _tell(request, answered)
        if self._may_pass_on and self._passes_on(message):
            return await settled(self.next.serve(request))
        return Reply(
            message.rcode,
            message.flags & _FLAGS,
            message.answer,
            message.authority,
            message.additional,
            message.opt,
        )

    def _passes_on(self, message: Message) -> bool:
        """True if another forward shall try to do better; only a forward right behind this one can."""
        rules = self._rules
        nodata = rules.next_on_nodata and message.rcode == consts.NOERROR and not message.answer
        return (nodata or message.rcode in rules.next_rcodes) and isinstance(self.next, Forward)


def _tell(request: Request, answered: Answered) -> None:
    """Leave word of who answered: for `metadata`, and for an explanation."""
    text = answered.upstream.text
    if request.metadata is not None:
        request.metadata["forward/upstream"] = lambda: text
    if request.trace is not None:
        request.note(f"forward: {text} answered {consts.rcode_text(answered.message.rcode)}")
