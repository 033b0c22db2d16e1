"""Which upstream is asked, and when to give up."""

from __future__ import annotations

import asyncio
import random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.chain import make_wire
from waypost.metrics.registry import Counter
from waypost.toolkit.exchange import Transport
from waypost.toolkit.inflight import Receiver
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstream_group import Upstream, UpstreamGroup
from waypost.toolkit.upstreams import Selection, SelectionLimits
from waypost.wire import consts
from waypost.wire.message import Message
from waypost.wire.query import parse_query

QUERY = parse_query(make_wire("example.org."))
UDP = Transport(stream=False)


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class FakeUpstream:
    """Gives its outcomes in turn, the last one for ever; an int is an rcode. Each attempt takes `seconds`.

    With `posts` it can be asked without a task.
    """

    posts = False

    def __init__(self, name: str, *outcomes: int | Exception, clock: Clock, seconds: float = 0.0) -> None:
        self.text = name
        self.outcomes = list(outcomes)
        self.asked = 0
        self.health = SimpleNamespace(down=False)
        self.clock = clock
        self.seconds = seconds

    def post(self, query: object, transport: Transport, receiver: Receiver) -> bool:
        if not self.posts:
            return False
        try:
            result: Message | UpstreamError = self.give()
        except UpstreamError as exc:
            result = exc
        asyncio.get_running_loop().call_soon(receiver, result)
        return True

    async def ask(self, query: object, transport: Transport) -> Message:
        return self.give()

    def give(self) -> Message:
        self.asked += 1
        self.clock.now += self.seconds
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return Message(0, consts.QR, outcome, 1, b"\0", 1, 1, (), (), (), None)


@pytest.fixture(autouse=True, params=[False, True], ids=["in a task", "posted"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeUpstream, "posts", request.param)


REFUSED = UpstreamError("read udp 127.0.0.1:1->127.0.0.1:2: read: connection refused")


class Scene:
    """Upstreams named a, b, ... with these outcomes, and a selection over them."""

    def __init__(
        self, *outcomes: Any, policy: str = "sequential", seconds: float = 0.0, limits: SelectionLimits | None = None
    ) -> None:
        self.clock = Clock()
        self.broken = Counter()
        self.upstreams = [
            FakeUpstream(chr(97 + n), *(outcome if isinstance(outcome, tuple) else (outcome,)), clock=self.clock)
            for n, outcome in enumerate(outcomes)
        ]
        for upstream in self.upstreams:
            upstream.seconds = seconds
        group = UpstreamGroup(cast(Any, None), ())
        group.members = cast(tuple[Upstream, ...], tuple(self.upstreams))
        self.selection = Selection(
            group,
            policy,
            limits or SelectionLimits(),
            self.broken,
            rng=random.Random(1),
            now=self.clock,
            sleep=self.clock.sleep,
        )

    async def ask(self) -> str:
        """Who answered, and with what rcode."""
        answered = await self.selection.ask(QUERY, UDP)
        if isinstance(answered, UpstreamError):
            raise answered
        return f"{answered.upstream.text} {consts.rcode_text(answered.message.rcode)}"

    @property
    def asked(self) -> list[int]:
        return [upstream.asked for upstream in self.upstreams]

    def down(self, *names: str) -> None:
        for upstream in self.upstreams:
            upstream.health.down = upstream.text in names


async def test_sequential_asks_the_first() -> None:
    scene = Scene(0, 0)
    assert [await scene.ask() for _ in range(3)] == ["a NOERROR"] * 3


async def test_round_robin_takes_turns() -> None:
    scene = Scene(0, 0, 0, policy="round_robin")
    assert [(await scene.ask())[0] for _ in range(6)] == ["b", "c", "a", "b", "c", "a"]


async def test_round_robin_goes_on_in_file_order() -> None:
    scene = Scene(0, REFUSED, 0, policy="round_robin")
    assert (await scene.ask())[0] == "a"
    assert scene.asked == [1, 1, 0]


async def test_random_asks_everyone() -> None:
    scene = Scene(0, 0, 0, policy="random")
    for _ in range(60):
        await scene.ask()
    assert min(scene.asked) > 10


@pytest.mark.parametrize("policy", ["random", "round_robin", "sequential"])
async def test_failure_moves_on(policy: str) -> None:
    scene = Scene(REFUSED, REFUSED, 0, policy=policy)
    assert await scene.ask() == "c NOERROR"
    assert max(scene.asked) == 1


async def test_rcode_is_an_answer() -> None:
    scene = Scene(consts.SERVFAIL, 0)
    assert await scene.ask() == "a SERVFAIL"


async def test_two_passes_then_the_last_error() -> None:
    scene = Scene(REFUSED, UpstreamError("last"))
    with pytest.raises(UpstreamError, match=r"^last$"):
        await scene.ask()
    assert scene.asked == [2, 2]


@pytest.mark.parametrize(("attempts", "asked"), [(1, [1, 0]), (2, [1, 1]), (3, [2, 1])])
async def test_max_connect_attempts(attempts: int, asked: list[int]) -> None:
    """B171: attempts have a limit."""
    scene = Scene(REFUSED, REFUSED, limits=SelectionLimits(max_attempts=attempts))
    with pytest.raises(UpstreamError, match="connection refused"):
        await scene.ask()
    assert scene.asked == asked


async def test_unlimited_attempts_pause_and_end_at_the_deadline() -> None:
    scene = Scene(REFUSED, limits=SelectionLimits(max_attempts=0))
    with pytest.raises(UpstreamError, match="connection refused"):
        await scene.ask()
    assert 40 < scene.asked[0] < 60
    assert scene.clock.now == pytest.approx(5.0, abs=0.2)


async def test_deadline_is_looked_at_between_attempts() -> None:
    scene = Scene(REFUSED, REFUSED, REFUSED, REFUSED, seconds=2.0)
    with pytest.raises(UpstreamError):
        await scene.ask()
    assert scene.asked == [1, 1, 1, 0]


async def test_down_upstreams_are_skipped() -> None:
    scene = Scene(0, 0)
    scene.down("a")
    assert await scene.ask() == "b NOERROR"
    assert scene.asked == [0, 1]
    assert scene.broken.value == 0


async def test_all_down_one_is_asked_all_the_same() -> None:
    scene = Scene(0, 0)
    scene.down("a", "b")
    await scene.ask()
    assert sum(scene.asked) == 1
    assert scene.broken.value == 1


async def test_all_down_and_really_dead() -> None:
    scene = Scene(REFUSED, REFUSED)
    scene.down("a", "b")
    with pytest.raises(UpstreamError, match="connection refused"):
        await scene.ask()
    assert sum(scene.asked) == 1


async def test_all_down_with_failfast() -> None:
    scene = Scene(0, 0, limits=SelectionLimits(fail_fast=True))
    scene.down("a", "b")
    with pytest.raises(UpstreamError, match=r"^no healthy proxies$"):
        await scene.ask()
    assert scene.asked == [0, 0]
    assert scene.broken.value == 1


async def test_no_upstreams_at_all() -> None:
    with pytest.raises(UpstreamError, match=r"^no healthy proxies$"):
        await Scene().ask()


async def test_mismatch_is_final() -> None:
    scene = Scene(Mismatch("another question"), 0)
    with pytest.raises(Mismatch):
        await scene.ask()
    assert scene.asked == [1, 0]


FAILOVER = SelectionLimits(failover=frozenset((consts.SERVFAIL, consts.REFUSED)))


async def test_failover_to_a_better_reply() -> None:
    scene = Scene(consts.SERVFAIL, consts.REFUSED, consts.NXDOMAIN, 0, limits=FAILOVER)
    assert await scene.ask() == "c NXDOMAIN"


async def test_failover_gives_the_last_reply_after_one_pass() -> None:
    scene = Scene(consts.SERVFAIL, consts.REFUSED, limits=FAILOVER)
    assert await scene.ask() == "b REFUSED"
    assert scene.asked == [1, 1]


async def test_failover_reply_beats_a_dead_upstream() -> None:
    scene = Scene(consts.SERVFAIL, REFUSED, limits=FAILOVER)
    assert await scene.ask() == "a SERVFAIL"
    assert scene.asked == [1, 1]


async def test_what_happens_on_the_way_is_told() -> None:
    said: list[str] = []
    scene = Scene(0, REFUSED, consts.SERVFAIL, 0, limits=SelectionLimits(failover=frozenset((consts.SERVFAIL,))))
    scene.down("a")
    await scene.selection.ask(QUERY, UDP, said.append)
    assert said == [
        "upstream a is down by its health checks: left out",
        f"upstream b failed: {REFUSED}",
        "upstream c answered with an rcode of 'failover': the next one is asked",
    ]
    assert scene.selection.told == "a b c d"
    scene = Scene(0, limits=SelectionLimits(fail_fast=True))
    scene.down("a")
    assert isinstance(await scene.selection.ask(QUERY, UDP, said.append), UpstreamError)
    assert said[-1] == "every upstream is down"
