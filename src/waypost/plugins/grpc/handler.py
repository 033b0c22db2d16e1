"""What grpc does with a query."""

from __future__ import annotations

from functools import partial
from typing import Final

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED, UNASKED
from waypost.plugins.grpc.config import Config
from waypost.toolkit.exchange import Transport
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstreams import Result, Selection
from waypost.wire import consts
from waypost.wire.names import is_within
from waypost.wire.reply import Reply, copied_flags, failure

# There is but one way to ask.
_TRANSPORT: Final = Transport(stream=True)
# The header bits of a reply without QR, opcode and rcode.
_FLAGS: Final = consts.AA | consts.TC | consts.RD | consts.RA | consts.Z | consts.AD | consts.CD


class Grpc:
    """The grpc line of a block."""

    name = "grpc"
    next: Handler

    def __init__(self, config: Config, selection: Selection) -> None:
        self._config = config
        self._selection = selection

    def serve(self, request: Request) -> Outcome:
        """The upstream's reply, later; queries it is not meant for go on."""
        return self._ask(request) if self._covers(request.query.name) else self.next.serve(request)

    def _covers(self, name: bytes) -> bool:
        config = self._config
        if name == config.origin:
            return True
        return is_within(name, config.origin) and not any(is_within(name, zone) for zone in config.excluded)

    def _ask(self, request: Request) -> Outcome:
        if request.trace is not None and request.trace.offline:
            request.note(self.name, f"would ask one of the upstreams {self._selection.told}", UNASKED)
            return failure(consts.SERVFAIL)
        tell = None if request.trace is None else partial(request.note, self.name)
        return self._selection.ask(request.query, _TRANSPORT, tell).then(partial(self._answered, request))

    def _answered(self, request: Request, result: Result) -> Outcome:
        falls = self._config.fall.covers(request.query.name)
        if isinstance(result, Mismatch):
            request.note(self.name, f"the reply fits no question that was asked: {result}", ANSWERED)
            return Reply(consts.FORMERR, copied_flags(request.query))
        if isinstance(result, UpstreamError):
            request.note(self.name, f"no upstream answered: {result}", PASSED if falls else ANSWERED)
            return self.next.serve(request) if falls else failure(consts.SERVFAIL, str(result))
        message, text = result.message, result.upstream.text
        if falls and message.rcode == consts.NXDOMAIN:
            request.note(self.name, f"upstream {text} answered NXDOMAIN", PASSED)
            return self.next.serve(request)
        if request.trace is not None:
            request.note(self.name, f"upstream {text} answered {consts.rcode_text(message.rcode)}", ANSWERED, text)
        flags = message.flags & _FLAGS
        return Reply(message.rcode, flags, message.answer, message.authority, message.additional, message.opt)
