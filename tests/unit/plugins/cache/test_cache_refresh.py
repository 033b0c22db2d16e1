"""Prefetching, and serving expired entries."""

from __future__ import annotations

import asyncio

import pytest

from support.caching import Answer, Rig, address_of, nxdomain, positive, reply, request_with, servfail, ttls
from waypost.dispatch.request import Request
from waypost.dispatch.trace import Trace
from waypost.plugins.cache import refresh
from waypost.wire import consts
from waypost.wire.reply import DROP, Reply, failure

IMMEDIATE = "cache 60 {\nservfail 5s\nserve_stale 1h immediate\n}"
VERIFY = "cache 60 {\nserve_stale 1h verify\n}"
WINDOW = 3600


def stale_rig(text: str = IMMEDIATE, past: float = 100) -> Rig:
    """An entry for www.example.org with 192.0.2.1 that expired `past` - 60 seconds ago."""
    rig = Rig(text)
    rig.ask()
    rig.clock.advance(past)
    return rig


def second(request: Request) -> Reply:
    return positive(request, address="192.0.2.2")


def failing(request: Request) -> Reply:
    raise RuntimeError("boom")


def refused(request: Request) -> Reply:
    return reply(request, rcode=consts.REFUSED)


USELESS = [servfail, failing, refused, lambda request: failure(consts.SERVFAIL, "no upstream"), lambda request: DROP]


class TestImmediate:
    def test_the_expired_answer_comes_first_and_the_new_one_next(self) -> None:
        rig = stale_rig()
        rig.source.answer = second
        first = rig.ask()
        assert (address_of(first), ttls(first)) == ("192.0.2.1", {0})
        assert address_of(rig.ask()) == "192.0.2.2"
        assert rig.asked == 2
        assert rig.metric("coredns_cache_served_stale_total") == 1
        assert rig.metric("coredns_cache_prefetch_total") == 1

    def test_an_entry_is_expired_from_the_end_of_its_ttl_on(self) -> None:
        rig = stale_rig(past=59.9)
        assert ttls(rig.ask()) == {1}
        rig.clock.advance(0.1)
        assert ttls(rig.ask()) == {0}
        assert rig.asked == 2

    @pytest.mark.parametrize("useless", USELESS)
    def test_a_failed_refresh_changes_nothing(self, useless: Answer) -> None:
        rig = stale_rig()
        rig.source.answer = useless
        for _ in range(3):
            assert address_of(rig.ask()) == "192.0.2.1"
        rig.source.answer = second
        rig.ask()
        assert address_of(rig.ask()) == "192.0.2.2"

    def test_the_window_ends(self) -> None:
        rig = stale_rig(past=60 + WINDOW - 0.1)
        rig.source.answer = servfail
        assert rig.ask().rcode == consts.NOERROR
        rig.clock.advance(0.1)
        assert rig.ask().rcode == consts.SERVFAIL

    def test_an_error_is_never_served_stale(self) -> None:
        rig = Rig(IMMEDIATE)
        rig.source.answer = servfail
        rig.ask()
        rig.source.answer = positive
        rig.clock.advance(1)
        assert rig.ask().rcode == consts.SERVFAIL
        rig.clock.advance(5)
        assert rig.ask().rcode == consts.NOERROR

    def test_a_denial_gives_way_to_an_answer_and_the_reverse(self) -> None:
        rig = stale_rig()
        for answer, rcode in ((nxdomain, consts.NXDOMAIN), (second, consts.NOERROR), (nxdomain, consts.NXDOMAIN)):
            rig.source.answer = answer
            rig.ask()
            assert rig.ask().rcode == rcode
            rig.clock.advance(100)

    @pytest.mark.parametrize(
        "uncacheable",
        [
            lambda request: reply(request, rcode=consts.NXDOMAIN),
            lambda request: reply(request, "@ 5 IN CNAME gone.example.org."),
            lambda request: reply(request, "@ 5 IN CNAME gone.example.org.", rcode=consts.NXDOMAIN),
        ],
    )
    def test_an_answer_that_is_not_kept_still_ends_the_old_one(self, uncacheable: Answer) -> None:
        rig = stale_rig()
        rig.source.answer = uncacheable
        rig.ask()
        before = rig.asked
        assert address_or_none(rig.ask()) is None
        assert rig.asked == before + 1

    @pytest.mark.parametrize(
        "unfit",
        [
            lambda request: positive(request, address="192.0.2.9", flags=consts.TC),
            lambda request: positive(request, address="192.0.2.9").replace(question=b"\x01x\x00\x00\x01\x00\x01"),
        ],
    )
    def test_truncated_and_mismatched_replies_replace_nothing(self, unfit: Answer) -> None:
        rig = stale_rig()
        rig.source.answer = unfit
        rig.ask()
        assert address_of(rig.ask()) == "192.0.2.1"

    def test_the_reply_ttl_and_the_recheck_interval_can_be_set(self) -> None:
        rig = stale_rig("cache 60 {\nserve_stale 1h immediate 30s 1m\n}")
        rig.source.answer = servfail
        assert ttls(rig.ask()) == {30}
        rig.clock.advance(59)
        rig.ask()
        assert rig.asked == 2
        rig.clock.advance(1)
        rig.ask()
        assert rig.asked == 3

    def test_keepttl_is_not_for_expired_entries(self) -> None:
        assert ttls(stale_rig("cache 60 {\nserve_stale\nkeepttl\n}").ask()) == {0}

    async def test_one_refresh_at_a_time_asks_as_the_client_did_but_for_the_transport(self) -> None:
        rig = Rig(IMMEDIATE)
        rig.ask(do=True)
        rig.ask()
        rig.clock.advance(100)
        rig.source.later = True
        rig.source.answer = second
        for _ in range(5):
            assert address_of(rig.ask(do=True)) == "192.0.2.1"
        await settle()
        (child,) = rig.source.seen[2:]
        assert child.query.do
        assert not child.datagram
        rig.source.release()
        await settle()
        assert address_of(rig.ask(do=True)) == "192.0.2.2"
        assert address_of(rig.ask()) == "192.0.2.1"  # without DO it is another entry
        await rig.cache.close()

    async def test_a_source_that_never_answers_is_given_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(refresh, "_REFRESH_SECONDS", 0.001)
        rig = stale_rig("cache 60 {\nserve_stale 1h verify\n}")
        rig.source.later = True
        assert address_of(await rig.ask_later()) == "192.0.2.1"
        assert "refresh failed: TimeoutError" in rig.process.lines[-1]

    async def test_refreshes_end_when_the_cache_stops(self) -> None:
        rig = stale_rig()
        rig.source.later = True
        rig.ask()
        await rig.cache.close()
        rig.source.answer = second
        rig.source.release()
        await settle()
        rig.source.later = False
        assert address_of(rig.ask()) == "192.0.2.1"


class TestVerify:
    @pytest.mark.parametrize("later", [False, True])
    async def test_the_new_answer_is_served(self, later: bool) -> None:
        rig = stale_rig(VERIFY)
        rig.source.later, rig.source.answer = later, second
        answer = await answered(rig)
        assert (address_of(answer), ttls(answer)) == ("192.0.2.2", {60})
        assert not answer.flags & consts.AA
        assert rig.metric("coredns_cache_served_stale_total") == 0

    @pytest.mark.parametrize("later", [False, True])
    async def test_a_denial_is_served(self, later: bool) -> None:
        rig = stale_rig(VERIFY)
        rig.source.later, rig.source.answer = later, nxdomain
        assert (await answered(rig)).rcode == consts.NXDOMAIN

    @pytest.mark.parametrize("later", [False, True])
    @pytest.mark.parametrize("useless", USELESS)
    async def test_else_the_old_one(self, useless: Answer, later: bool) -> None:
        rig = stale_rig(VERIFY)
        rig.source.later, rig.source.answer = later, useless
        for _ in range(2):
            assert address_of(await answered(rig)) == "192.0.2.1"
        assert rig.asked == 3
        assert rig.metric("coredns_cache_served_stale_total") == 2

    async def test_a_truncated_reply_goes_to_the_client_and_replaces_nothing(self) -> None:
        rig = stale_rig(VERIFY)
        rig.source.answer = lambda request: positive(request, flags=consts.TC)
        assert rig.ask().flags & consts.TC
        rig.source.answer = servfail
        assert address_of(rig.ask()) == "192.0.2.1"

    async def test_clients_join_one_refresh_and_keep_their_own_flags(self) -> None:
        rig = stale_rig(VERIFY)
        rig.source.later = True
        rig.source.answer = lambda request: positive(request, address="192.0.2.2", flags=consts.AD).replace(
            question=request.query.question
        )
        requests = [request_with("WWW.example.org."), request_with(ad=True), request_with(rd=False)]
        tasks = [asyncio.ensure_future(as_task(rig, request)) for request in requests]
        await settle()
        rig.source.release()
        first, with_ad, without_rd = await asyncio.gather(*tasks)
        assert rig.asked == 2
        assert {address_of(answer) for answer in (first, with_ad, without_rd)} == {"192.0.2.2"}
        assert first.flags & (consts.AD | consts.RD) == consts.RD
        assert with_ad.flags & (consts.AD | consts.RD) == consts.AD | consts.RD
        assert not without_rd.flags & (consts.AD | consts.RD)
        assert not with_ad.question  # that of the first has another spelling

    async def test_a_stream_client_does_not_take_what_was_cut_for_a_datagram(self) -> None:
        rig = stale_rig(VERIFY)
        rig.source.later = True
        rig.source.answer = lambda request: positive(
            request, address="192.0.2.2", flags=consts.TC if request.datagram else 0
        )
        cut = asyncio.ensure_future(as_task(rig, request_with()))
        await settle()
        whole = asyncio.ensure_future(as_task(rig, request_with(tcp=True)))
        await settle()
        rig.source.release()
        await settle()
        rig.source.release()
        assert (await cut).flags & consts.TC
        assert not (await whole).flags & consts.TC

    async def test_a_timeout_serves_the_old_answer_and_the_refresh_goes_on(self) -> None:
        rig = stale_rig("cache 60 {\nserve_stale 1h verify 1ms\n}")
        rig.source.later, rig.source.answer = True, second
        assert address_of(await rig.ask_later()) == "192.0.2.1"
        rig.source.release()
        await settle()
        assert address_of(rig.ask()) == "192.0.2.2"
        assert rig.asked == 2

    async def test_a_client_that_goes_away_does_not_end_the_refresh(self) -> None:
        rig = stale_rig(VERIFY)
        rig.source.later, rig.source.answer = True, second
        gone = asyncio.ensure_future(as_task(rig, request_with()))
        await settle()
        gone.cancel()
        await settle()
        rig.source.release()
        await settle()
        assert address_of(rig.ask()) == "192.0.2.2"

    async def test_recheck_leaves_the_source_in_peace(self) -> None:
        rig = stale_rig("cache 60 {\nserve_stale 1h verify 1s 0s 1m\n}")
        rig.source.answer = servfail
        for _ in range(3):
            assert address_of(rig.ask()) == "192.0.2.1"
        assert rig.asked == 2


class TestPreferPositive:
    TEXT = "cache 60 {\ndenial 1024 10\nserve_stale 1h MODE\nserve_stale_policy prefer_positive\n}"

    @pytest.mark.parametrize("mode", ["immediate", "verify"])
    @pytest.mark.parametrize("denial", [nxdomain, lambda request: reply(request)])
    def test_an_answer_outlives_denials_within_the_window(self, mode: str, denial: Answer) -> None:
        rig = stale_rig(self.TEXT.replace("MODE", mode))
        rig.source.answer = denial
        for _ in range(3):
            assert address_of(rig.ask()) == "192.0.2.1"
        asked = rig.asked
        assert asked == 2  # a denial is not asked for again before its own TTL ends
        rig.clock.advance(10)
        assert address_of(rig.ask()) == "192.0.2.1"
        assert rig.asked == asked + 1
        rig.clock.advance(WINDOW)
        assert address_or_none(rig.ask()) is None

    @pytest.mark.parametrize("mode", ["immediate", "verify"])
    def test_a_new_answer_replaces_it(self, mode: str) -> None:
        rig = stale_rig(self.TEXT.replace("MODE", mode))
        rig.source.answer = second
        rig.ask()
        assert address_of(rig.ask()) == "192.0.2.2"

    def test_an_empty_answer_has_no_such_privilege(self) -> None:
        rig = Rig(self.TEXT.replace("MODE", "immediate"))
        rig.source.answer = reply
        rig.ask()
        rig.clock.advance(100)
        rig.source.answer = nxdomain
        rig.ask()
        assert rig.ask().rcode == consts.NXDOMAIN


class TestPrefetch:
    TEXT = "cache 100 {\nprefetch 3 1m 20%\n}"

    def test_a_popular_entry_is_refreshed_in_the_last_part_of_its_ttl(self) -> None:
        rig = Rig(self.TEXT)
        rig.ask()
        rig.clock.advance(30)
        for _ in range(5):
            rig.ask()
        assert rig.asked == 1
        rig.clock.advance(50)  # 20 of 100 seconds left
        rig.source.answer = second
        hit = rig.ask()
        assert (address_of(hit), ttls(hit)) == ("192.0.2.1", {20})
        assert rig.asked == 2
        assert ttls(rig.ask()) == {100}
        assert rig.metric("coredns_cache_prefetch_total") == 1

    def test_hits_with_long_pauses_do_not_add_up(self) -> None:
        rig = Rig("cache 1000 {\nprefetch 3 1m 90%\nsuccess 1024 1000\n}")
        rig.source.answer = lambda request: positive(request, ttl=1000)
        rig.ask()
        for _ in range(8):
            rig.clock.advance(61)
            rig.ask()
        assert rig.asked == 1

    def test_the_count_is_carried_over(self) -> None:
        rig = Rig("cache 10 {\nprefetch 3 1m 90%\n}")
        rig.ask()
        rig.clock.advance(1)
        for _ in range(3):
            rig.ask()
        assert rig.asked == 2
        rig.clock.advance(1)
        rig.ask()
        assert rig.asked == 3

    def test_a_refresh_that_fails_leaves_the_entry(self) -> None:
        rig = Rig("cache 10 {\nprefetch 1 1m 90%\n}")
        rig.ask()
        rig.clock.advance(9)
        rig.source.answer = servfail
        assert address_of(rig.ask()) == "192.0.2.1"
        assert address_of(rig.ask()) == "192.0.2.1"

    def test_a_refresh_without_question_is_no_crash(self) -> None:
        rig = Rig("cache 10 {\nprefetch 1 1m 90%\n}")
        rig.ask()
        rig.clock.advance(9)
        rig.source.answer = lambda request: Reply(consts.NOERROR, 0)
        rig.ask()
        assert rig.ask().rcode == consts.NOERROR

    def test_the_client_that_causes_it_is_told_nothing_of_it(self) -> None:
        rig = Rig("cache 10 {\nprefetch 1 1m 90%\n}")
        rig.ask()
        rig.clock.advance(9)
        request = request_with()
        request.trace, request.metadata = Trace(), {"other": lambda: "x"}
        rig.cache.serve(request)
        child = rig.source.seen[1]
        assert child is not request
        assert child.trace is None
        assert child.metadata is not request.metadata
        assert set(child.metadata or ()) == {"other"}


def address_or_none(answer: Reply) -> str | None:
    found = [record for record in answer.answer if record.rtype == consts.TYPE_A]
    return address_of(answer) if found else None


async def settle() -> None:
    """Let every task that can run come to its end."""
    for _ in range(10):
        await asyncio.sleep(0)


async def as_task(rig: Rig, request: Request) -> Reply:
    outcome = rig.cache.serve(request)
    return outcome if isinstance(outcome, Reply) else await outcome


async def answered(rig: Rig) -> Reply:
    """The answer to one query, with a source that is let go once it was asked."""
    task = asyncio.ensure_future(as_task(rig, request_with()))
    await settle()
    rig.source.release()
    return await task
