"""Spans around a query and around each plugin, collected in memory by OpenTelemetry's own exporter."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from support.chain import FakeNext, make_request, make_site
from waypost.dispatch.handler import Handler, Outcome, settled, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import Trace as Notes
from waypost.plugins.trace.handler import Spanned, Trace
from waypost.wire import consts
from waypost.wire.reply import DROP, Reply, failure

ANSWER = Reply(consts.NXDOMAIN, 0)


class Passing:
    """A plugin that does something with the next one's reply."""

    next: Handler

    def __init__(self, name: str) -> None:
        self.name = name

    def serve(self, request: Request) -> Outcome:
        return then(self.next.serve(request), lambda reply: reply)


class Waiting(Passing):
    """One that goes on in a task."""

    def serve(self, request: Request) -> Outcome:
        return self._later(request)

    async def _later(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        return await settled(self.next.serve(request))


class Failing(Passing):
    """One with a fault."""

    def serve(self, request: Request) -> Outcome:
        raise RuntimeError("a fault")


class Collected:
    """A block with `trace` in front of these plugins, and the spans that came of queries."""

    def __init__(self, *handlers: Handler, every: int = 1, before: Sequence[Handler] = ()) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.trace = Trace(every)
        self.site: Site = make_site()
        for handler in (*before, self.trace, *handlers):
            self.site.add(handler)
        self.site.link()
        self.trace.begin(self.site, provider.get_tracer("test"))

    def serve(self, request: Request | None = None) -> Outcome:
        assert self.site.chain is not None
        return self.site.chain.serve(request or make_request(site=self.site))

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    def tree(self) -> dict[str, str]:
        """The names of the spans, each with its parent's."""
        names = {span.context.span_id: span.name for span in self.spans if span.context is not None}
        return {span.name: names[span.parent.span_id] if span.parent is not None else "" for span in self.spans}


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("kind", [Passing, Waiting])
async def test_a_span_for_each_plugin_within_that_of_the_one_before(kind: type[Passing], later: bool) -> None:
    found = Collected(Passing("log"), kind("cache"), FakeNext(ANSWER, later=later, name="forward"))
    reply = await asyncio.create_task(settled(found.serve()))
    assert reply is ANSWER
    assert found.tree() == {"servedns": "", "log": "servedns", "cache": "log", "forward": "cache"}


async def test_what_the_root_says() -> None:
    found = Collected(FakeNext(ANSWER))
    await settled(found.serve(make_request("A.Example.org.", "MX", client=("2001:db8::1", 5, 0, 0), datagram=False)))
    root = found.spans[-1]
    assert root.kind is SpanKind.SERVER
    assert root.attributes == {
        "coredns.io/name": "a.example.org.",
        "coredns.io/type": "MX",
        "coredns.io/proto": "tcp",
        "coredns.io/remote": "2001:db8::1",
        "coredns.io/rcode": "NXDOMAIN",
    }
    assert root.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize(
    ("reply", "rcode", "status"),
    [
        (failure(consts.SERVFAIL, "no upstream"), "SERVFAIL", StatusCode.ERROR),
        (failure(consts.REFUSED), "REFUSED", StatusCode.UNSET),
        (DROP, "NOERROR", StatusCode.UNSET),
    ],
)
async def test_what_the_client_gets(reply: Reply, rcode: str, status: StatusCode) -> None:
    found = Collected(FakeNext(reply))
    await settled(found.serve())
    root = found.spans[-1]
    assert root.attributes is not None
    assert root.attributes["coredns.io/rcode"] == rcode
    assert (root.status.status_code, root.status.description) == (status, reply.error or None)


@pytest.mark.parametrize("waiting", [False, True])
async def test_a_fault_ends_every_span_and_goes_on(waiting: bool) -> None:
    found = Collected(*([Waiting("cache")] if waiting else []), Failing("forward"))
    with pytest.raises(RuntimeError, match="a fault"):
        await settled(found.serve())
    assert {span.status.description for span in found.spans} == {"RuntimeError: a fault"}
    assert len(found.spans) == (3 if waiting else 2)
    await settled(Collected(FakeNext(ANSWER)).serve())


async def test_a_query_that_is_given_up_ends_its_spans() -> None:
    found = Collected(Waiting("cache"), FakeNext(ANSWER))
    task = asyncio.create_task(settled(found.serve()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert found.tree() == {"servedns": "", "cache": "servedns"}


@pytest.mark.parametrize(("every", "traced"), [(1, 9), (2, 4), (9, 1), (10, 0), (0, 0)])
async def test_every_so_many_queries(every: int, traced: int) -> None:
    found = Collected(FakeNext(ANSWER), every=every)
    for _ in range(9):
        await settled(found.serve())
    assert [span.name for span in found.spans].count("servedns") == traced
    assert len(found.spans) == 2 * traced


async def test_a_query_that_is_explained_is_nobodys() -> None:
    found = Collected(FakeNext(ANSWER))
    request = make_request(site=found.site)
    request.trace = Notes()
    assert await settled(found.serve(request)) is ANSWER
    assert found.spans == ()


async def test_queries_at_the_same_time_keep_apart() -> None:
    found = Collected(Waiting("cache"), FakeNext(ANSWER, later=True))
    await asyncio.gather(*(asyncio.create_task(settled(found.serve())) for _ in range(20)))
    by_trace: dict[int, list[str]] = {}
    for span in found.spans:
        assert span.context is not None
        by_trace.setdefault(span.context.trace_id, []).append(span.name)
    assert len(by_trace) == 20
    assert all(sorted(names) == ["cache", "fake", "servedns"] for names in by_trace.values())


async def test_handlers_of_one_directive_are_one_plugin() -> None:
    first, second = Passing("forward"), FakeNext(ANSWER, name="forward")
    found = Collected(first, second)
    await settled(found.serve())
    assert found.tree() == {"servedns": "", "forward": "servedns"}
    assert first.next is second, "a plugin that looks at its successor of the same directive sees it"


async def test_plugins_in_front_have_no_span() -> None:
    found = Collected(FakeNext(ANSWER), before=[Passing("metadata")])
    await settled(found.serve())
    assert found.tree() == {"servedns": "", "fake": "servedns"}


async def test_a_look_up_within_a_query_belongs_to_it() -> None:
    class LookingUp(Passing):
        def serve(self, request: Request) -> Outcome:
            if request.depth:
                return ANSWER
            return request.lookup(b"\x01b\x00", consts.TYPE_A)

    found = Collected(LookingUp("template"), FakeNext(ANSWER))
    request = make_request(site=found.site)
    request.server.add(found.site.zones[0], found.site)
    await settled(found.serve(request))
    assert [span.name for span in found.spans] == ["template", "template", "servedns"]
    assert len({span.context.trace_id for span in found.spans if span.context is not None}) == 1


async def test_the_trace_id_is_metadata() -> None:
    found = Collected(FakeNext(ANSWER), every=2)
    ids = []
    for _ in range(2):
        request = make_request(site=found.site)
        request.metadata = {}
        await settled(found.serve(request))
        ids.append(request.metadata.get("trace/traceid"))
    assert ids[0] is None
    assert ids[1] is not None
    context = found.spans[-1].context
    assert context is not None
    assert ids[1]() == f"{context.trace_id:032x}"


def test_what_stands_in_front_of_a_plugin_has_its_name() -> None:
    found = Collected(FakeNext(ANSWER, name="cache"))
    assert isinstance(found.trace.next, Spanned)
    assert found.trace.next.name == "cache"
