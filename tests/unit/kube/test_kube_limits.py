"""kube.limits, kube.lines, kube.backoff: rates, bounds and pauses, on a clock of our own."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.kube.backoff import Backoff
from waypost.kube.errors import ApiProtocolError
from waypost.kube.limits import Admission, Limits
from waypost.kube.lines import LineSplitter


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


class Steady(Random):
    """A random source stuck in the middle."""

    def random(self) -> float:
        return 0.5


async def pass_times(limits: Limits, requests: int) -> list[float]:
    clock = Clock()
    admission = Admission(limits, clock=clock, sleep=clock.sleep)
    times = []
    for _ in range(requests):
        async with admission.request():
            times.append(round(clock.now - 100.0, 6))
    return times


async def test_burst_then_rate():
    assert await pass_times(Limits(qps=2.0, burst=3), 6) == [0, 0, 0, 0.5, 1.0, 1.5]


async def test_defaults_are_those_of_client_go():
    assert await pass_times(Limits(), 12) == [0] * 10 + [0.2, 0.4]


async def test_a_slow_rate_is_effective():
    assert await pass_times(Limits(qps=0.05, burst=1), 3) == [0, 20.0, 40.0]


@pytest.mark.parametrize(("limits", "last"), [(Limits(), 0.2), (Limits(burst=10), 0.2), (Limits(qps=5.0), 6.2)])
async def test_pages_after_the_first_are_free_unless_the_user_set_a_rate(limits: Limits, last: float):
    clock = Clock()
    admission = Admission(limits, clock=clock, sleep=clock.sleep)
    for number in range(40):
        async with admission.request(next_page=number % 4 != 0):
            pass
    async with admission.request():
        assert clock.now - 100.0 == pytest.approx(last)


async def test_an_idle_time_fills_no_more_than_the_burst():
    clock = Clock()
    admission = Admission(Limits(qps=1.0, burst=2), clock=clock, sleep=clock.sleep)
    clock.now += 1000
    waits = []
    for _ in range(4):
        async with admission.request() as waited:
            waits.append(waited)
    assert waits == [0, 0, 1.0, 1.0]


async def test_max_inflight():
    admission = Admission(Limits(qps=1e6, burst=100, max_inflight=2))
    inside, most = 0, 0

    async def request() -> None:
        nonlocal inside, most
        async with admission.request():
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(request() for _ in range(9)))
    assert most == 2


def test_backoff_doubles_to_its_ceiling_and_is_reset_by_quiet():
    clock = Clock()
    backoff = Backoff(clock, Steady())
    steps = [backoff.next() / 1.5 for _ in range(8)]
    assert steps == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])
    clock.now += 119
    assert backoff.next() / 1.5 == pytest.approx(30.0)
    clock.now += 121
    assert backoff.next() / 1.5 == pytest.approx(0.8)


@given(st.integers(0, 2**32))
def test_backoff_jitter_is_one_to_two_times(seed):
    assert 0.8 <= Backoff(Clock(), Random(seed)).next() <= 1.6


@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line)), st.lists(st.integers(1, 12)))
def test_lines_are_independent_of_chunks(lines, sizes):
    stream, splitter, found = b"".join(line + b"\n" for line in lines), LineSplitter(), []
    for size in [*sizes, len(stream)]:
        found += splitter.feed(stream[:size])
        stream = stream[size:]
    assert found == lines
    assert not splitter.unfinished


@given(st.lists(st.binary(max_size=20), max_size=8))
def test_no_line_beyond_the_limit_comes_out_or_is_kept(chunks):
    splitter = LineSplitter(10)
    longest = max(len(line) for line in b"".join(chunks).split(b"\n"))
    try:
        for chunk in chunks:
            splitter.feed(chunk)
    except ApiProtocolError:
        assert longest > 10
    else:
        assert longest <= 10


def test_an_unfinished_line_is_known():
    splitter = LineSplitter()
    assert splitter.feed(b"a\nb") == [b"a"]
    assert splitter.unfinished
    assert splitter.feed(b"\n") == [b"b"]
    assert not splitter.unfinished
