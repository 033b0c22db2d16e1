"""Faults that users of cluster DNS caches reported in public: none of them can happen here. One test for each."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import dns.edns
import pytest

from support.caching import Answer, Rig, address_of, decoded, nxdomain, positive, reply, request_with, servfail, ttls
from support.chain import FakeProcess, make_directive, make_request, make_site, make_wire
from support.objects import make_index, namespace, service
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.plugins import log, nsid
from waypost.plugins.cache.config import parse
from waypost.plugins.kubernetes.config import parse as parse_kubernetes
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.wire import consts
from waypost.wire.reply import Reply, failure


def at(address: str) -> Answer:
    return lambda request: positive(request, ttl=20, address=address)


def empty(request: Request) -> Reply:
    """NOERROR without any record."""
    return reply(request)


def dead(request: Request) -> Reply:
    return failure(consts.SERVFAIL, "i/o timeout")


def truth(answer: Reply) -> tuple[int, int]:
    return answer.rcode, len(answer.answer)


@pytest.mark.parametrize("mode", ["", "immediate", "verify"])
def test_an_error_does_not_outlive_the_failure(mode: str) -> None:
    """B02: with serve_stale a SERVFAIL was served for an hour."""
    rig = Rig(f"cache {{\nserve_stale 1h {mode}\n}}")
    rig.source.answer = servfail
    assert rig.ask().rcode == consts.SERVFAIL
    rig.source.answer = positive
    for seconds, rcode in ((1, consts.SERVFAIL), (5, consts.NOERROR), (24, consts.NOERROR)):
        rig.clock.advance(seconds)
        assert rig.ask().rcode == rcode


@pytest.mark.parametrize("mode", ["", "immediate", "verify"])
def test_a_name_that_comes_into_being_is_found_though_it_is_asked_for_all_the_time(mode: str) -> None:
    """B03: a name that once was NXDOMAIN stayed so while it was asked for twice a second."""
    rig = Rig(f"cache {{\ndenial 1024 10\nserve_stale 1h {mode}\n}}")
    rig.source.answer = nxdomain
    for _ in range(100):
        rig.ask()
        rig.clock.advance(0.5)
    rig.source.answer = positive
    rig.clock.advance(10)
    rig.ask()
    for _ in range(10):
        assert rig.ask().rcode == consts.NOERROR
        rig.clock.advance(0.5)


@pytest.mark.parametrize("mode", ["", "immediate", "verify"])
@pytest.mark.parametrize("order", list(itertools.permutations([nxdomain, at("192.0.2.1"), empty])))
def test_the_truth_is_told_6_seconds_after_a_change(mode: str, order: tuple[Answer, ...]) -> None:
    """B05: with serve_stale some names of a service discovery zone could not be resolved any more."""
    rig = Rig(f"cache 5 {{\nserve_stale 1h {mode}\n}}")
    for answer in order * 3:
        rig.source.answer = answer
        for _ in range(12):
            rig.clock.advance(0.5)
            rig.ask()
        for _ in range(28):
            assert truth(rig.ask()) == truth(answer(request_with()))
            rig.clock.advance(0.5)


@pytest.mark.parametrize("refresh", [False, True])
def test_a_reply_with_an_empty_message_is_no_crash(refresh: bool) -> None:
    """B08: a message without question, to the first query or to a refresh, was an index error."""
    rig = Rig("cache 10 {\nprefetch 1 1m 90%\n}")
    if refresh:
        rig.ask()
        rig.clock.advance(5)
    rig.source.answer = lambda request: Reply(consts.FORMERR, 0)
    before = rig.asked
    first, second = rig.ask(), rig.ask()
    assert first.rcode == second.rcode == (consts.NOERROR if refresh else consts.FORMERR)
    assert rig.asked == before + 2  # neither is kept


CLIENTS: list[dict[str, bool]] = [{}, {"ad": True}, {"do": True}, {"ad": True, "do": True}]


@pytest.mark.parametrize("order", list(itertools.permutations(CLIENTS)))
def test_ad_does_not_depend_on_who_was_first(order: tuple[dict[str, bool], ...]) -> None:
    """B10: the AD bit that a client got was that of the first client's answer."""
    rig = Rig()
    rig.source.answer = lambda request: positive(
        request, flags=consts.RA | (consts.AD if request.query.flags & consts.AD or request.query.do else 0)
    )
    for flags in (*order, *order):
        assert bool(rig.ask(**flags).flags & consts.AD) == bool(flags)
    assert rig.asked == 2  # DO has an entry of its own


@pytest.mark.parametrize("first", [False, True])
def test_what_was_not_checked_is_for_those_who_check(first: bool) -> None:
    """B11 (CVE-2024-0874): an answer fetched with CD was given to clients that want validation, and the reverse."""
    rig = Rig("cache 10 {\nservfail 10s\nprefetch 1 1m 90%\n}")
    rig.source.answer = lambda request: positive(request) if request.query.flags & consts.CD else servfail(request)
    for _ in range(3):
        for cd in (first, not first):
            assert rig.ask(cd=cd).rcode == (consts.NOERROR if cd else consts.SERVFAIL)
        rig.clock.advance(5)  # each is refreshed by the next hit


def test_refreshes_ask_with_the_do_bit_of_their_entry() -> None:
    """B12: a refresh dropped DO or always added it, and signatures vanished or appeared."""
    rig = Rig("cache 10 {\nprefetch 1 1m 90%\n}")
    signature = "@ 300 IN RRSIG A 8 3 300 20380101000000 20200101000000 1 example.org. AAAA"
    rig.source.answer = lambda request: reply(
        request, "@ 300 IN A 192.0.2.1", *([signature] if request.query.do else [])
    )
    for _ in range(4):
        assert [len(rig.ask(do=do).answer) for do in (False, True)] == [1, 2]
        rig.clock.advance(5)
    assert [request.query.do for request in rig.source.seen] == [False, True] * 4


@pytest.mark.parametrize(("wanted", "lines"), [("error", 0), ("denial", 2)])
async def test_nxdomain_without_soa_is_a_denial_and_not_kept(wanted: str, lines: int) -> None:
    """B14: it was logged as an error, and kept by some."""
    process = FakeProcess()
    site = make_site(process=process)
    log.setup(make_directive(f"log . {{\nclass {wanted}\n}}"), site)
    (logger,) = site.handlers["log"]
    rig = Rig()
    rig.source.answer = lambda request: reply(request, rcode=consts.NXDOMAIN)
    logger.next = rig.cache
    for _ in range(2):
        logger.serve(make_request("1.2.0.192.in-addr.arpa.", "PTR", site=site))
    await asyncio.sleep(0)
    assert rig.asked == 2
    assert sum("NXDOMAIN" in line for line in process.lines) == lines


@pytest.mark.parametrize("directive", ["cache 7200", "cache {\nsuccess 1024 7200\n}"])
def test_a_maximum_above_an_hour_is_used(directive: str) -> None:
    """B16: it silently acted as 3600."""
    rig = Rig(directive)
    rig.source.answer = lambda request: positive(request, ttl=86400)
    assert ttls(rig.ask()) == {7200}
    rig.clock.advance(100)
    assert ttls(rig.ask()) == {7100}
    rig.clock.advance(7099)
    rig.ask()
    assert rig.asked == 1


@pytest.mark.parametrize(
    ("directive", "ttl", "minimum", "shown"),
    [
        ("cache", 60, 3600, 60),
        ("cache", 86400, 86400, 1800),  # not above the limit
        ("cache {\ndenial 1024 30\n}", 60, 3600, 30),
        ("cache {\ndenial 1024 100 90\n}", 60, 60, 90),  # nor below it
    ],
)
def test_a_denial_is_kept_for_the_time_of_its_soa(directive: str, ttl: int, minimum: int, shown: int) -> None:
    """B17: it was kept for MINIMUM, whatever the TTL of the SOA."""
    rig = Rig(directive)
    rig.source.answer = lambda request: nxdomain(request, ttl=ttl, minimum=minimum)
    rig.ask()
    rig.clock.advance(10)
    assert ttls(rig.ask()) == {shown - 10}


def nodata(request: Request, ttl: int, minimum: int) -> Reply:
    return nxdomain(request, ttl, minimum).replace(rcode=consts.NOERROR)


@pytest.mark.parametrize("denial", [nxdomain, nodata])
@pytest.mark.parametrize(
    ("option", "ttl", "minimum", "shown"),
    [
        ("soa_minimum", 60, 3600, 60),
        ("soa_minimum", 3600, 60, 60),
        ("", 60, 3600, 60),
        ("", 3600, 60, 1800),
        ("soa_minimum\ndenial 1024 30", 3600, 60, 30),  # the limits have the last word
        ("soa_minimum\ndenial 1024 100 90", 3600, 60, 90),
        ("soa_minimum", 86400, 2**32 - 1, 1800),
        ("soa_minimum", 3600, 0, 5),
    ],
)
def test_a_denial_may_be_bounded_by_minimum(
    denial: Callable[..., Reply], option: str, ttl: int, minimum: int, shown: int
) -> None:
    """B17: by RFC 2308 the lower one of the SOA's TTL and its MINIMUM is how long a denial counts."""
    rig = Rig(f"cache {{\n{option}\n}}")
    rig.source.answer = lambda request: denial(request, ttl=ttl, minimum=minimum)
    assert ttls(rig.ask()) == {shown}
    rig.clock.advance(shown - 1)
    assert (ttls(rig.ask()), rig.asked) == ({1}, 1)
    rig.clock.advance(1)
    assert (ttls(rig.ask()), rig.asked) == ({shown}, 2)


@pytest.mark.parametrize("options", ["", "ttl 30", "ttl 300"])
def test_the_soa_of_the_own_zone_says_minimum_twice(options: str) -> None:
    """B17: a TTL of 300 beside a MINIMUM of 30 kept `no such name` in caches for five minutes."""
    config = parse_kubernetes(make_directive(f"kubernetes cluster.local {{\n{options}\n}}"), ())
    index = make_index(namespace("a"), service("a/web", "10.96.0.1"))
    rig = Rig()
    rig.cache.next = Kubernetes(config, index, [])
    for name, qtype in (("gone.a.svc.cluster.local.", "A"), ("web.a.svc.cluster.local.", "AAAA")):
        for _ in range(2):
            (soa,) = rig.ask(name, qtype).authority
            assert soa.ttl == int.from_bytes(soa.rdata[-4:])


def test_keepttl_leaves_other_options_alone() -> None:
    """B18: it swallowed the words that follow."""
    config = parse(make_directive("cache 30 {\nkeepttl\nprefetch 1\n}"))
    assert config.keep_ttl
    assert config.prefetch is not None
    with pytest.raises(CorefileError):
        parse(make_directive("cache 30 {\nkeepttl 5\n}"))
    rig = Rig("cache 30 {\nkeepttl\n}")
    rig.ask()
    for seconds in (10, 19):
        rig.clock.advance(seconds)
        assert ttls(rig.ask()) == {30}
    assert rig.asked == 1
    rig.clock.advance(1)
    rig.ask()
    assert rig.asked == 2


def test_prefetching_does_not_ask_for_names_that_nobody_asks_for() -> None:
    """B19: users expected it to keep a name warm; the page says that it does not."""
    rig = Rig("cache 30 {\nprefetch 1 1h 50%\n}")
    rig.ask()
    rig.clock.advance(3600)
    assert rig.asked == 1


def test_the_identifier_is_for_those_who_ask_for_it_whoever_was_first() -> None:
    """B22: NSID was missing in answers from the cache."""
    site = make_site()
    nsid.setup(make_directive("nsid host1"), site)
    (identifying,) = site.handlers["nsid"]
    rig = Rig()
    identifying.next = rig.cache
    option = dns.edns.GenericOption(dns.edns.OptionType.NSID, b"")
    for wanted in (True, True, False, True):
        request = make_request(wire=make_wire(options=(option,)) if wanted else make_wire(bufsize=1232))
        answer = identifying.serve(request)
        assert isinstance(answer, Reply)
        found = [each.to_wire() for each in decoded(request, answer).options]
        assert found == ([b"host1"] if wanted else [])
    assert rig.asked == 1


def test_verify_asks_first_and_falls_back_with_a_ttl() -> None:
    """B25: addresses of pods long gone were handed out although the source was healthy."""
    rig = Rig("cache 30 {\nserve_stale 24h verify 1s 30s\n}")
    rig.ask()
    rig.clock.advance(7200)
    rig.source.answer = at("192.0.2.2")
    assert address_of(rig.ask()) == "192.0.2.2"
    rig.source.answer = dead
    rig.clock.advance(86400 + 19)
    fallback = rig.ask()
    assert (address_of(fallback), ttls(fallback)) == ("192.0.2.2", {30})
    rig.clock.advance(1)
    assert rig.ask().rcode == consts.SERVFAIL
