"""Who leads, with clocks of ours."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random

from support.autoscaling import Clock, FakeApi, memory_log
from waypost.autoscale.leader import DURATION, RENEW_DEADLINE, LeaderElection

NAME = "dns-autoscaler"
START = Clock().now


def candidate(api: FakeApi, clock: Clock, me: str) -> LeaderElection:
    return LeaderElection(
        api,  # type: ignore[arg-type]
        NAME,
        me,
        memory_log()[0],
        clock=clock,
        wall=lambda: 1_700_000_000.25 + clock.now - START,
        rng=Random(1),
    )


async def test_the_first_one_leads_and_the_second_waits() -> None:
    api, clock = FakeApi(), Clock()
    one, two = candidate(api, clock, "one"), candidate(api, clock, "two")
    await one.step()
    await two.step()
    assert (one.leads, two.leads) == (True, False)
    spec = api.leases[NAME]
    assert (spec.holder_identity, spec.lease_duration_seconds, spec.lease_transitions) == ("one", 15, 0)
    assert spec.renew_time == spec.acquire_time == "2023-11-14T22:13:20.250000Z"


async def test_a_leader_that_is_gone_is_replaced_after_the_lease() -> None:
    api, clock = FakeApi(), Clock()
    one, two = candidate(api, clock, "one"), candidate(api, clock, "two")
    await one.step()
    await two.step()
    clock.now += DURATION - 0.1
    await two.step()
    assert not two.leads
    assert not one.leads, "it was not renewed for longer than the deadline"
    clock.now += 0.2
    await two.step()
    assert two.leads
    assert api.leases[NAME].lease_transitions == 1
    await one.step()
    assert not one.leads


async def test_a_leader_that_renews_stays() -> None:
    api, clock = FakeApi(), Clock()
    one, two = candidate(api, clock, "one"), candidate(api, clock, "two")
    for _ in range(20):
        clock.now += 2
        await one.step()
        await two.step()
        assert (one.leads, two.leads) == (True, False)


async def test_who_cannot_renew_stops_before_another_may_start() -> None:
    api, clock = FakeApi(), Clock()
    one = candidate(api, clock, "one")
    await one.step()
    api.down = True
    clock.now += RENEW_DEADLINE - 0.1
    await one.step()
    assert one.leads
    clock.now += 0.1
    assert not one.leads
    api.down = False
    await one.step()
    assert one.leads, "nobody else took it"


async def test_a_race_has_one_winner() -> None:
    api, clock = FakeApi(), Clock()
    one, two = candidate(api, clock, "one"), candidate(api, clock, "two")
    await asyncio.gather(one.step(), two.step())
    assert [one.leads, two.leads].count(True) == 1


async def test_the_end_gives_the_lease_back() -> None:
    api, clock = FakeApi(), Clock()
    one, two = candidate(api, clock, "one"), candidate(api, clock, "two")
    task = asyncio.create_task(one.run())
    await asyncio.sleep(0)
    assert one.leads
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert api.leases[NAME].holder_identity == ""
    await two.step()
    assert two.leads
