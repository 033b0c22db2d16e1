"""Hits and misses: what is served again, to whom, for how long."""

from __future__ import annotations

import asyncio
import itertools

import dns.flags
import pytest

from support.caching import Answer, Rig, address_of, decoded, nxdomain, positive, records, request_with, servfail, ttls
from waypost.dispatch.request import Request
from waypost.dispatch.trace import Trace
from waypost.wire import consts
from waypost.wire.edns import Opt, Option
from waypost.wire.names import from_text
from waypost.wire.reply import DROP, Reply, failure

WILDCARD = "zone/wildcard"


def test_a_second_query_is_answered_from_the_cache_with_aa_and_a_falling_ttl() -> None:
    rig = Rig("cache 30")
    first = rig.ask()
    assert ttls(first) == {30}
    assert not first.flags & consts.AA
    rig.clock.advance(2.3)
    second = rig.ask()
    assert ttls(second) == {28}
    assert second.flags & consts.AA
    assert second.flags & consts.RA
    assert rig.asked == 1


@pytest.mark.parametrize("age", [29.999, 30.0])
def test_an_entry_ends_with_its_ttl(age: float) -> None:
    rig = Rig("cache 30")
    rig.ask()
    rig.clock.advance(age)
    rig.ask()
    assert rig.asked == (1 if age < 30 else 2)


def test_keepttl_shows_the_first_ttl_but_the_entry_still_ends() -> None:
    rig = Rig("cache 30 {\nkeepttl\n}")
    rig.ask()
    rig.clock.advance(29)
    assert ttls(rig.ask()) == {30}
    rig.clock.advance(1)
    rig.ask()
    assert rig.asked == 2


def test_the_key_is_name_without_case_type_class_do_and_cd() -> None:
    rig = Rig()
    variants: list[dict[str, object]] = [
        {},
        {"qtype": "AAAA"},
        {"do": True},
        {"cd": True},
        {"do": True, "cd": True},
        {"qclass": "CH"},
        {"name": "www2.example.org."},
    ]
    for variant in variants:
        rig.cache.serve(request_with(**variant))  # type: ignore[arg-type]
    assert rig.asked == len(variants)
    rig.source.answer = lambda request: pytest.fail("must not be asked")
    same: list[dict[str, object]] = [
        {"name": "WWW.Example.org."},
        {"rd": False},
        {"ad": True},
        {"edns": True},
        {"tcp": True},
    ]
    for variant in same:
        rig.cache.serve(request_with(**variant))  # type: ignore[arg-type]


def test_names_that_are_alike_but_for_label_borders_have_entries_of_their_own() -> None:
    rig = Rig()
    rig.source.answer = lambda request: positive(request, address=f"192.0.2.{len(rig.source.seen)}")
    assert address_of(rig.ask("ab.c.")) != address_of(rig.ask("a.bc."))


def test_owners_keep_the_spelling_of_the_first_query_and_the_question_that_of_the_client() -> None:
    rig = Rig()
    rig.ask("WWW.example.org.")
    request = request_with("www.example.org.")
    hit = rig.cache.serve(request)
    assert isinstance(hit, Reply)
    message = decoded(request, hit)
    assert message.question[0].name.to_text() == "www.example.org."
    assert message.answer[0].name.to_text() == "WWW.example.org."


@pytest.mark.parametrize("order", list(itertools.permutations([{}, {"ad": True}, {"rd": False}])))
@pytest.mark.parametrize("source_says", [0, consts.AD])
def test_ad_is_told_to_those_who_ask_whoever_was_first(order: tuple[dict[str, bool], ...], source_says: int) -> None:
    rig = Rig()
    rig.source.answer = lambda request: positive(request, flags=consts.RA | source_says)
    for flags in order:
        answer = rig.ask(**flags)
        assert bool(answer.flags & consts.AD) == (bool(source_says) and flags.get("ad", False))
        assert bool(answer.flags & consts.RD) == flags.get("rd", True)
    assert rig.asked == 1
    assert rig.source.seen[0].query.flags & consts.AD
    assert dns.flags.AD & int.from_bytes(rig.source.seen[0].query.wire[2:4], "big")


def test_ad_with_do() -> None:
    rig = Rig()
    rig.source.answer = lambda request: positive(request, flags=consts.AD)
    assert rig.ask(do=True).flags & consts.AD
    assert rig.ask(do=True).flags & consts.AD
    assert rig.source.seen[0].query.do


def test_an_answer_fetched_with_cd_is_not_given_to_others() -> None:
    rig = Rig()
    rig.source.answer = lambda request: positive(request) if request.query.flags & consts.CD else servfail(request)
    assert rig.ask(cd=True).rcode == consts.NOERROR
    assert rig.ask().rcode == consts.SERVFAIL
    assert rig.ask(cd=True).flags & consts.CD
    assert rig.asked == 2


def test_the_sources_opt_is_dropped_on_miss_and_hit() -> None:
    rig = Rig()
    opt = Opt(4096, options=(Option(65001, b"\xaa"),))
    rig.source.answer = lambda request: positive(request).replace(opt=opt)
    assert rig.ask(edns=True).opt is None
    assert rig.ask().opt is None


def test_hits_within_one_second_share_a_reply() -> None:
    rig = Rig()
    rig.ask()
    assert rig.ask() is rig.ask()
    one = rig.ask()
    rig.clock.advance(1)
    assert rig.ask() is not one


def test_the_first_reply_is_not_changed_by_later_ones() -> None:
    rig = Rig("cache 30")
    first = rig.ask()
    rig.clock.advance(10)
    rig.ask()
    assert ttls(first) == {30}


def test_outcomes_that_write_nothing_pass_and_are_not_kept() -> None:
    for outcome in (DROP, failure(consts.SERVFAIL, "no next plugin found"), failure(consts.REFUSED)):
        rig = Rig()
        rig.source.answer = lambda request, outcome=outcome: outcome  # type: ignore[misc]
        assert rig.ask() is outcome
        assert rig.ask() is outcome
        assert rig.asked == 2


def test_a_written_servfail_is_kept_for_5_seconds() -> None:
    rig = Rig()
    rig.source.answer = servfail
    rig.ask()
    rig.clock.advance(4.9)
    assert rig.ask().rcode == consts.SERVFAIL
    assert rig.asked == 1
    rig.source.answer = positive
    rig.clock.advance(0.1)
    assert rig.ask().rcode == consts.NOERROR


def test_servfail_0_keeps_none() -> None:
    rig = Rig("cache {\nservfail 0\n}")
    rig.source.answer = servfail
    rig.ask()
    rig.ask()
    assert rig.asked == 2


@pytest.mark.parametrize("question", ["other.example.org.", "www.example.org."])
def test_a_reply_to_another_question_is_not_kept(question: str) -> None:
    rig = Rig()
    qtype = consts.TYPE_A if question.startswith("other") else consts.TYPE_AAAA
    wrong = from_text(question) + qtype.to_bytes(2, "big") + b"\x00\x01"
    rig.source.answer = lambda request: positive(request).replace(question=wrong)
    rig.ask()
    rig.ask()
    assert rig.asked == 2
    assert rig.metric("coredns_cache_drops_total") == 2


def test_a_question_in_other_spelling_is_the_same() -> None:
    rig = Rig()
    rig.source.answer = lambda request: positive(request).replace(question=request.query.question.swapcase())
    rig.ask("Az.example.org.", "TYPE65")  # a type number that looks like a letter must not be folded
    rig.source.answer = lambda request: positive(request).replace(
        question=request.query.question[:-4].upper() + request.query.question[-4:]
    )
    rig.ask()
    rig.ask()
    assert rig.metric("coredns_cache_drops_total") == 1
    assert rig.asked == 2


def test_zones_limit_what_is_looked_up() -> None:
    rig = Rig("cache 40 example.org sub.example.net")
    for name in ("a.example.net.", "badexample.org."):
        assert ttls(rig.ask(name)) == {300}
        assert ttls(rig.ask(name)) == {300}
    assert rig.asked == 4
    for name in ("example.org.", "a.sub.example.net."):
        assert ttls(rig.ask(name)) == {40}
        rig.ask(name)
    assert rig.asked == 6


def test_without_any_valid_zone_nothing_is_kept() -> None:
    rig = Rig("cache a..b", zones=())
    rig.ask()
    rig.ask()
    assert rig.asked == 2


def test_a_notify_passes_untouched() -> None:
    rig = Rig()
    request = request_with(qtype="SOA")
    request.query.flags |= consts.OPCODE_NOTIFY << 11
    rig.cache.serve(request)
    assert rig.source.seen == [request]


def test_disable_stops_storing_not_looking_up() -> None:
    rig = Rig("cache {\ndisable denial a.org\ndisable success b.org\n}")
    rig.source.answer = nxdomain
    for name, times in (("x.a.org.", 2), ("x.b.org.", 1), ("nota.org.", 1)):
        before = rig.asked
        rig.ask(name)
        rig.ask(name)
        assert rig.asked - before == times, name
    rig.source.answer = positive
    for name, times in (("y.a.org.", 1), ("b.org.", 2)):
        before = rig.asked
        rig.ask(name)
        rig.ask(name)
        assert rig.asked - before == times, name


async def test_misses_of_a_source_that_waits_are_not_joined_and_share_no_message() -> None:
    rig = Rig()
    rig.source.later = True
    waiting = [rig.ask_later(ad=bool(n % 2), rd=bool(n % 3)) for n in range(6)]
    tasks = [asyncio.create_task(one) for one in waiting]
    await asyncio.sleep(0)
    assert rig.asked == 6
    rig.source.answer = lambda request: positive(request, flags=consts.AD)
    rig.source.release()
    for n, answer in enumerate(await asyncio.gather(*tasks)):
        assert bool(answer.flags & consts.AD) == bool(n % 2)
        assert bool(answer.flags & consts.RD) == bool(n % 3)


@pytest.mark.parametrize("meanwhile", [positive, nxdomain])
def test_an_error_does_not_replace_what_came_meanwhile(meanwhile: Answer) -> None:
    rig = Rig()

    def slow(request: Request) -> Reply:
        rig.source.answer = meanwhile
        rig.ask()  # another client is faster
        return servfail(request)

    rig.source.answer = slow
    assert rig.ask().rcode == consts.SERVFAIL
    assert rig.ask().rcode in (consts.NOERROR, consts.NXDOMAIN)
    assert rig.asked == 2


def test_the_wildcard_of_the_first_answer_is_told_again() -> None:
    rig = Rig()

    def wild(request: Request) -> Reply:
        assert request.metadata is not None
        request.metadata[WILDCARD] = lambda: "*.example.org."
        return positive(request)

    rig.source.answer = wild
    for _ in range(2):
        request = request_with()
        request.metadata = {}
        rig.cache.serve(request)
        assert request.metadata[WILDCARD]() == "*.example.org."
    rig.cache.serve(request_with())  # a block without `metadata`
    assert rig.asked == 1


def test_what_an_answer_depends_on_is_told_on_miss_and_hit() -> None:
    rig = Rig()
    rig.source.answer = lambda request: positive(request).replace(depends=(b"\x03web",))
    assert rig.ask().depends == (b"\x03web",)
    assert rig.ask().depends == (b"\x03web",)


def test_metrics() -> None:
    rig = Rig("cache")
    rig.ask("a.org.")
    rig.ask("a.org.")
    rig.source.answer = nxdomain
    rig.ask("b.org.")
    rig.ask("b.org.")
    rig.ask("b.org.")
    assert rig.metric("coredns_cache_requests_total") == 5
    assert rig.metric("coredns_cache_misses_total") == 2
    assert rig.metric("coredns_cache_hits_total", "success") == 1
    assert rig.metric("coredns_cache_hits_total", "denial") == 2
    assert rig.metric("coredns_cache_entries", "success") == 1
    assert rig.metric("coredns_cache_entries", "denial") == 1
    assert rig.metric("coredns_cache_evictions_total", "denial") == 0


def test_capacity_holds_and_evictions_are_counted() -> None:
    rig = Rig("cache {\nsuccess 1\n}")
    for n in range(1100):
        rig.ask(f"n{n}.example.org.")
    assert rig.metric("coredns_cache_entries", "success") == 1024
    assert rig.metric("coredns_cache_evictions_total", "success") == 1100 - 1024


def test_a_huge_reply_does_not_break_the_memory_bound() -> None:
    rig = Rig("cache {\nsuccess 1\n}")
    many = records(*(f"x.example.org. 300 IN A 10.0.{n >> 8}.{n & 255}" for n in range(2000)))
    rig.source.answer = lambda request: Reply(
        0, 0, tuple(record._replace(owner=request.query.qname) for record in many)
    )
    for n in range(80):
        rig.ask(f"n{n}.example.org.")
    assert rig.store.success.weight <= 1024 * 4096
    assert 0 < len(rig.store.success) < 80


def test_exceptions_of_the_source_pass() -> None:
    rig = Rig()

    def broken(request: Request) -> Reply:
        raise RuntimeError("boom")

    rig.source.answer = broken
    with pytest.raises(RuntimeError):
        rig.ask()


def test_decisions_are_noted_while_explaining() -> None:
    rig = Rig()
    said = []
    for _ in range(2):
        request = request_with()
        request.trace = Trace()
        rig.cache.serve(request)
        said.append([note.text for note in request.trace.notes])
    assert said == [["miss: nothing is kept for this question", "kept for 300 s"], ["hit: kept 0 s ago, 300 s left"]]
