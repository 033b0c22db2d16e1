"""When an upstream is down, and when it is probed."""

from __future__ import annotations

import asyncio

import dns.message
import pytest

from waypost.metrics.registry import Counter
from waypost.toolkit.upstream_errors import Mismatch, UpstreamError
from waypost.toolkit.upstream_health import Health, HealthSettings
from waypost.wire import consts
from waypost.wire.names import from_text


class Probes:
    """A probe with prepared outcomes, and a sleep that only remembers."""

    def __init__(self, *outcomes: Exception | int) -> None:
        self.outcomes = list(outcomes)
        self.sent = 0
        self.pauses: list[float] = []
        self.time = 1000.0

    async def probe(self) -> int:
        self.sent += 1
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if not self.outcomes:
            await asyncio.Event().wait()


DEAD = UpstreamError("i/o timeout")


def make_health(probes: Probes, settings: HealthSettings | None = None) -> tuple[Health, Counter]:
    failures = Counter()
    return Health(settings or HealthSettings(), probes.probe, failures, probes.sleep, probes.now), failures


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


async def test_down_after_more_failures_than_allowed() -> None:
    probes = Probes(DEAD, DEAD)
    health, failures = make_health(probes)
    health.suspect()
    await settle()
    assert (health.fails, health.down) == (2, False)
    health.close()
    probes.outcomes = [DEAD]
    health.suspect()
    await settle()
    assert (health.fails, health.down, failures.value) == (3, True, 3)
    health.close()


async def test_any_reply_is_healthy_and_ends_probing() -> None:
    probes = Probes(DEAD, DEAD, DEAD, consts.SERVFAIL)
    health, _ = make_health(probes)
    health.suspect()
    await settle()
    assert (health.down, health.fails, probes.sent) == (False, 0, 4)
    probes.outcomes = [Mismatch("another question")]
    health.suspect()
    await settle()
    assert (health.fails, probes.sent) == (0, 5)


async def test_one_probe_at_a_time() -> None:
    probes = Probes(DEAD)
    health, _ = make_health(probes)
    for _ in range(5):
        health.suspect()
        await settle()
    assert probes.sent == 1
    health.close()


async def test_reply_to_a_client_counts_like_a_probe() -> None:
    probes = Probes(DEAD, DEAD, DEAD)
    health, _ = make_health(probes)
    health.suspect()
    await settle()
    assert health.down
    health.replied(consts.SERVFAIL)
    await settle()
    assert (health.down, probes.sent) == (False, 3)


PICKY = HealthSettings(unhealthy=frozenset((consts.SERVFAIL, consts.REFUSED)))


async def test_a_named_rcode_is_a_failed_probe() -> None:
    probes = Probes(consts.SERVFAIL, DEAD, consts.REFUSED, consts.NXDOMAIN)
    health, failures = make_health(probes, PICKY)
    health.replied(consts.NXDOMAIN)
    await settle()
    assert probes.sent == 0
    health.replied(consts.REFUSED)
    await settle()
    assert (probes.sent, failures.value, health.fails, health.down) == (4, 3, 0, False)


async def test_where_rcodes_are_named_only_a_probe_clears() -> None:
    probes = Probes(consts.SERVFAIL, consts.SERVFAIL, consts.SERVFAIL)
    health, _ = make_health(probes, PICKY)
    health.suspect()
    await settle()
    assert health.down
    health.replied(consts.NOERROR)
    await settle()
    assert (health.down, probes.sent) == (True, 3)
    health.close()


async def test_after_a_good_probe_rcodes_are_not_looked_into_for_an_interval() -> None:
    probes = Probes(*[consts.NOERROR] * 4)
    health, _ = make_health(probes, PICKY)
    for seconds, sent in ((0.0, 1), (0.25, 1), (0.25, 2), (0.0, 2)):
        probes.time += seconds
        health.replied(consts.SERVFAIL)
        await settle()
        assert probes.sent == sent
    health.suspect()  # no reply at all is another matter
    await settle()
    assert probes.sent == 3


async def test_pauses_grow_to_a_limit() -> None:
    probes = Probes(*[DEAD] * 12)
    health, _ = make_health(probes)
    health.suspect()
    await settle()
    assert probes.pauses[:3] == [0.5, 0.75, 1.125]
    assert probes.pauses[-1] == 5.0
    health.close()


@pytest.mark.parametrize(("interval", "pause"), [(0.5, 0.5), (0.0, 0.1)])
async def test_steady_pauses(interval: float, pause: float) -> None:
    probes = Probes(*[DEAD] * 4)
    health, _ = make_health(probes, HealthSettings(interval=interval, steady=True))
    health.suspect()
    await settle()
    assert probes.pauses == [pause] * 4
    health.close()


async def test_without_max_fails_nothing_is_probed_and_nothing_is_down() -> None:
    probes = Probes()
    health, _ = make_health(probes, HealthSettings(max_fails=0))
    health.suspect()
    health.fails = 100
    await settle()
    assert (health.down, probes.sent) == (False, 0)


async def test_failures_beyond_any_counter_stay_failures() -> None:
    health, _ = make_health(Probes())
    for fails in (2**31, 2**32, 2**64):
        health.fails = fails
        assert health.down


def test_question() -> None:
    message = dns.message.from_wire(HealthSettings().question().wire)
    assert (message.question[0].to_text(), bool(message.flags & dns.flags.RD)) == (". IN NS", True)
    settings = HealthSettings(recursion=False, domain=from_text("example.org."))
    message = dns.message.from_wire(settings.question().wire)
    assert (message.question[0].to_text(), bool(message.flags & dns.flags.RD)) == ("example.org. IN NS", False)
    assert message.edns == -1
