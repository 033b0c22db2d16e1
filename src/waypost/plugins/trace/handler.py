"""A span for a query, and one within it for each plugin: what is made of a chain while it is traced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from itertools import pairwise
from typing import Final

from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer, set_span_in_context

from waypost.dispatch.handler import Handler, Outcome
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.toolkit.sent import as_sent
from waypost.wire import consts, names
from waypost.wire.query import Query
from waypost.wire.reply import Reply

NAME: Final = "trace"
TRACE_ID: Final = "trace/traceid"
_ROOT: Final = "servedns"
_TAGS: Final = "coredns.io/"

# The span that the running code belongs to. A query that waits goes on in a task, and a task has a context of its own.
_current: ContextVar[Span | None] = ContextVar("span", default=None)


class Trace:
    """Begins a span for each query whose turn it is, in a chain that `begin` has made ready."""

    __slots__ = ("_count", "_every", "_tracer", "name", "next")

    next: Handler

    def __init__(self, every: int) -> None:
        self.name = NAME
        self._every = every
        self._count = 0
        self._tracer: Tracer | None = None

    def begin(self, site: Site, tracer: Tracer) -> None:
        """Put a span in front of each plugin behind this one; several handlers of one directive are one plugin."""
        self._tracer = tracer
        handlers = site.all_handlers()
        behind = handlers[handlers.index(self) :]
        for handler, following in pairwise(behind):
            if following.name != handler.name:
                handler.next = Spanned(following, tracer)

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply."""
        if request.trace is not None:  # what is explained is nobody's query
            return self.next.serve(request)
        self._count += 1
        if self._tracer is None or not self._every or self._count % self._every or _current.get() is not None:
            return self.next.serve(request)
        query = request.query
        attributes = {
            f"{_TAGS}name": names.to_text(query.name),
            f"{_TAGS}type": consts.type_text(query.qtype),
            f"{_TAGS}proto": request.protocol,
            f"{_TAGS}remote": request.client_ip,
        }
        span = self._tracer.start_span(_ROOT, Context(), SpanKind.SERVER, attributes)
        if request.metadata is not None:
            trace_id = f"{span.get_span_context().trace_id:032x}"
            request.metadata[TRACE_ID] = lambda: trace_id
        return _within(span, self.next, request, lambda reply: _tell_outcome(span, query, reply))


class Spanned:
    """In front of a plugin: a span around it, if the query has one."""

    __slots__ = ("_tracer", "name", "next")

    next: Handler

    def __init__(self, handler: Handler, tracer: Tracer) -> None:
        self.name = handler.name
        self.next = handler
        self._tracer = tracer

    def serve(self, request: Request) -> Outcome:
        """The plugin's reply."""
        parent = _current.get()
        if parent is None:
            return self.next.serve(request)
        span = self._tracer.start_span(self.name, set_span_in_context(parent, Context()))
        return _within(span, self.next, request, None)


def _within(span: Span, handler: Handler, request: Request, tell: Callable[[Reply], None] | None) -> Outcome:
    """The handler's reply, with the span around it: now, or later if it has to wait."""
    token = _current.set(span)
    try:
        outcome = handler.serve(request)
    except BaseException as exc:
        _fail(span, exc)
        raise
    finally:
        _current.reset(token)
    if not isinstance(outcome, Reply):
        return _within_later(span, outcome, tell)
    if tell is not None:
        tell(outcome)
    span.end()
    return outcome


async def _within_later(span: Span, waiting: Awaitable[Reply], tell: Callable[[Reply], None] | None) -> Reply:
    token = _current.set(span)
    try:
        reply = await waiting
    except BaseException as exc:
        _fail(span, exc)
        raise
    finally:
        _current.reset(token)
    if tell is not None:
        tell(reply)
    span.end()
    return reply


def _tell_outcome(span: Span, query: Query, reply: Reply) -> None:
    """What the client gets; silence counts as NOERROR, as in CoreDNS."""
    leaving = as_sent(query, reply)
    span.set_attribute(f"{_TAGS}rcode", consts.rcode_text(leaving.rcode if leaving is not None else consts.NOERROR))
    if reply.error:
        span.set_status(StatusCode.ERROR, reply.error)


def _fail(span: Span, exc: BaseException) -> None:
    span.record_exception(exc)
    span.set_status(StatusCode.ERROR, f"{type(exc).__name__}: {exc}")
    span.end()
