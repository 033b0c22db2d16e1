"""kube.reflector with scripted answers: what it asks next, what the sink sees, how long it pauses. No sockets."""

from __future__ import annotations

import asyncio
from random import Random

import msgspec
import pytest

from support.kube import MemoryLog, MemorySink, ScriptedClient, eventually, recording
from waypost.kube.errors import ApiStatusError, ApiUnreachable, ClusterError
from waypost.kube.listwatch import SERVICES
from waypost.kube.reflector import Reflector, Timing

EXPIRED = ApiStatusError(410, "Expired", "too old resource version: 1 (354)")


class Clock:
    """Time that only sleeping moves; keeps the pauses."""

    def __init__(self) -> None:
        self.now = 5000.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Steady(Random):
    """No jitter, the longest watches."""

    def random(self) -> float:
        return 0.0

    def randint(self, low: int, high: int) -> int:
        return high


def listed(*names: str, version: int = 10) -> bytes:
    items = [{"metadata": {"name": name, "namespace": "ns", "resourceVersion": "1"}} for name in names]
    head = {"kind": "ServiceList", "metadata": {"resourceVersion": str(version)}}
    return msgspec.json.encode({**head, "items": items})


def event(type_: str, name: str, version: int, **annotations: str) -> bytes:
    meta = {"namespace": "ns", "resourceVersion": str(version), "annotations": annotations}
    meta |= {"name": name} if name else {}
    return msgspec.json.encode({"type": type_, "object": {"kind": "Service", "metadata": meta}}) + b"\n"


def bookmark(version: int) -> bytes:
    return event("BOOKMARK", "", version)


def initial_end(version: int) -> bytes:
    return event("BOOKMARK", "", version, **{"k8s.io/initial-events-end": "true"})


class Run:
    """A reflector run until its client has no more answers."""

    def __init__(self, *answers: bytes | Exception, sink: MemorySink | None = None, **options) -> None:
        self.client, self.sink, self.log = ScriptedClient(*answers), sink or MemorySink(), MemoryLog()
        self.clock = Clock()
        options = {"initial_events": False, "timing": Timing(), **options}
        self.reflector = Reflector(
            SERVICES,
            self.client,
            self.sink,
            log=self.log,
            clock=self.clock,
            sleep=self.clock.sleep,
            rng=Steady(),
            **options,
        )
        self.counters = self.reflector.counters

    async def __call__(self) -> Run:
        task = asyncio.create_task(self.reflector.run())
        async with asyncio.timeout(10):
            await self.client.exhausted.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return self

    @property
    def asked(self) -> list[str]:
        """For each request: `list`, `initial`, or the version that a watch began from."""
        return [
            ("initial" if "sendInitialEvents" in asked else asked["resourceVersion"]) if "watch" in asked else "list"
            for asked in self.client.asked
        ]


async def run(*answers: bytes | Exception, **options) -> Run:
    return await Run(*answers, **options)()


async def test_list_then_watch_from_its_version():
    done = await run(listed("a", "b"), event("ADDED", "c", 12) + event("DELETED", "a", 13))
    assert done.asked == ["list", "10", "13"]
    assert done.sink.names() == {"b", "c"}
    assert done.reflector.synced
    assert done.counters.last_sync == 5000.0
    assert done.client.asked[1]["timeoutSeconds"] == "600"


async def test_initial_events_then_the_same_stream():
    stream = recording("watchlist-services").body + event("ADDED", "late", 300)
    done = await run(stream, initial_events=True)
    assert done.asked == ["initial", "300"]
    assert done.sink.names() == {"first", "second", "third", "late"}
    assert done.sink.calls == ["begin", "end", "changed late"]


async def test_deleted_among_the_initial_events():
    stream = event("ADDED", "a", 9) + event("ADDED", "b", 2) + event("DELETED", "a", 11) + initial_end(11)
    done = await run(stream, initial_events=True)
    assert done.sink.names() == {"b"}
    assert done.counters.ignored == 0


@pytest.mark.parametrize(
    "refusal",
    [
        recording("watchlist-unsupported").body,
        ApiStatusError(422, "Invalid", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch"),
        event("ADDED", "a", 9) + bookmark(9),
        event("ADDED", "a", 9),
        b"",
    ],
    ids=["recorded", "invalid", "plain bookmark", "ends early", "empty"],
)
async def test_initial_events_refused_leads_to_a_list_at_once(refusal):
    done = await run(refusal, listed("b"), EXPIRED, initial_events=True)
    assert done.asked == ["initial", "list", "10", "list"]
    assert done.sink.names() == {"b"}
    assert done.counters.errors == 1
    assert len(done.clock.pauses) == 1, "only the 410 is waited for"
    assert "abort" in done.sink.calls or done.sink.calls[0:2] == ["begin", "end"]


async def test_initial_events_that_never_end_lead_to_a_list():
    done = await run(
        event("ADDED", "a", 9) + b"SILENCE\n",
        listed("b"),
        initial_events=True,
        timing=Timing(initial_silence=0.01),
    )
    assert done.asked == ["initial", "list", "10"]


@pytest.mark.parametrize("code", [401, 403, 429, 503])
async def test_a_busy_server_is_asked_for_initial_events_again(code):
    done = await run(ApiStatusError(code, "", "no"), initial_end(7), initial_events=True)
    assert done.asked == ["initial", "initial", "7"]


async def test_expired_lists_again_and_drops_what_is_gone():
    done = await run(listed("a", "b"), EXPIRED, listed("b", "c", version=400))
    assert done.asked == ["list", "10", "list", "400"]
    assert done.sink.names() == {"b", "c"}
    assert done.log.errors == []
    assert done.log.infos == ["*v1.Service: too old resource version: 1 (354), listing again"]


async def test_recorded_expiry_inside_the_stream():
    done = await run(listed("a"), recording("watch-too-old").body, listed("a", version=360))
    assert done.asked == ["list", "10", "list", "360"]


@pytest.mark.parametrize(
    "error",
    [
        ApiUnreachable("connection refused"),
        ApiStatusError(429, "TooManyRequests", "later"),
        ApiStatusError(500, "InternalError", "etcd"),
        ApiStatusError(401, "Unauthorized", "Unauthorized"),
        ApiStatusError(403, "Forbidden", "no"),
    ],
    ids=str,
)
async def test_a_failed_watch_goes_on_from_its_version(error):
    done = await run(listed("a"), event("ADDED", "b", 20), error, error, bookmark(21))
    assert done.asked == ["list", "10", "20", "20", "20", "21"]
    assert done.clock.pauses == [0.8, 1.6]
    assert done.log.errors == [f"Failed to watch: failed to watch *v1.Service: {error}"]
    assert done.log.infos == ["*v1.Service is followed again"]


@pytest.mark.parametrize(
    "error", [ApiStatusError(400, "BadRequest", "?"), ApiStatusError(404, "NotFound", "?"), ClusterError("exec")]
)
async def test_other_failures_list_again(error):
    assert (await run(listed("a"), error)).asked == ["list", "10", "list"]


async def test_pauses_double_and_are_reset_by_quiet():
    refused = [ApiUnreachable("refused")] * 8
    done = Run(*refused, listed("a"))
    await done()
    assert done.clock.pauses == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])
    assert done.log.errors == ["Failed to watch: failed to list *v1.Service: refused"]


async def test_retry_after_is_respected_within_reason():
    done = await run(ApiStatusError(429, "", "x", 17.0), ApiStatusError(503, "", "x", 1e6))
    assert done.clock.pauses == [17.0, 300.0]


async def test_another_cause_is_said_too():
    done = await run(ApiUnreachable("one"), ApiUnreachable("one"), ApiUnreachable("two"))
    assert [text.rpartition(" ")[2] for text in done.log.errors] == ["one", "two"]


async def test_old_and_repeated_events_do_no_harm():
    stream = (
        event("MODIFIED", "a", 20)
        + event("MODIFIED", "a", 20)
        + event("DELETED", "a", 15)
        + event("DELETED", "unknown", 21)
        + event("MODIFIED", "new", 22)
        + event("ADDED", "new", 23)
    )
    done = await run(listed("a"), stream)
    assert done.sink.names() == {"a", "new"}
    assert done.sink.calls[2:] == ["changed a", "removed unknown", "changed new", "changed new"]
    assert done.counters.ignored == 2
    assert done.asked[-1] == "23"


async def test_bookmarks_advance_but_never_go_back():
    done = await run(listed("a"), bookmark(50), bookmark(40))
    assert done.asked == ["list", "10", "50", "50"]


async def test_a_short_watch_with_nothing_said_is_a_failure():
    done = await run(listed("a"), b"", b"", event("ADDED", "b", 11))
    assert done.asked == ["list", "10", "10", "10", "11"]
    assert done.clock.pauses == [0.8, 1.6]
    assert "very short watch" in done.log.errors[0]


async def test_two_silent_watches_lead_to_a_list():
    timing = Timing(watch_seconds=(0, 0), grace=0.01)
    done = await run(listed("a", version=900), b"SILENCE\n", b"SILENCE\n", listed("b", version=5), timing=timing)
    assert done.asked[:5] == ["list", "900", "900", "list", "5"]
    assert done.sink.names() == {"b"}
    assert done.counters.stale >= 2


async def test_bookmarks_from_the_past_are_silence():
    """A server that went back in time says so, again and again."""
    timing = Timing(stale=0.0, short_watch=-1.0)
    done = await run(listed("a", version=900), bookmark(5), bookmark(6), listed("b", version=7), timing=timing)
    assert done.asked == ["list", "900", "900", "list", "7"]
    assert done.sink.names() == {"b"}
    assert done.counters.errors == 0


async def test_a_watch_with_regular_bookmarks_is_given_less_silence():
    timing = Timing(stale=0.01)
    done = await run(listed("a"), bookmark(11) + bookmark(12) + b"SILENCE\n", timing=timing)
    assert done.asked == ["list", "10", "12"]
    assert done.counters.stale == 1


async def test_a_single_bookmark_makes_no_rule():
    done = Run(listed("a"), bookmark(11) + b"SILENCE\n", timing=Timing(stale=0.01))
    task = asyncio.create_task(done.reflector.run())
    await eventually(lambda: done.counters.events == 1)
    assert done.reflector._patience(600) == 630.0
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class FaultySink(MemorySink):
    """Fails once on an object named `bad`."""

    failed = False

    def changed(self, obj) -> None:
        if obj.metadata.name == "bad" and not self.failed:
            self.failed = True
            raise KeyError("bad")
        super().changed(obj)


async def test_a_fault_in_the_sink_does_not_stop_the_following():
    done = await run(listed("a"), event("ADDED", "bad", 11), listed("a", "bad", version=12), sink=FaultySink())
    assert done.asked == ["list", "10", "list", "12"]
    assert done.sink.names() == {"a", "bad"}
    assert done.log.errors == ["Failed to watch: failed to watch *v1.Service: KeyError: 'bad'"]


async def test_a_list_that_breaks_off_removes_nothing():
    page = msgspec.json.decode(listed("a"))
    page["metadata"]["continue"] = "more"
    done = await run(listed("a", "b"), EXPIRED, msgspec.json.encode(page), ApiUnreachable("cut"), listed("a"))
    assert done.sink.calls == ["begin", "end", "begin", "abort", "begin", "end"]
    assert done.sink.names() == {"a"}


async def test_cancelled_amid_a_list():
    page = msgspec.json.decode(listed("a"))
    page["metadata"]["continue"] = "more"
    done = await run(msgspec.json.encode(page))
    assert done.sink.calls == ["begin", "abort"]
    assert not done.reflector.synced
