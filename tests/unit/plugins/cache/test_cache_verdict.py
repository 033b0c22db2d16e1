"""Which kind a reply is, its TTL, and whether it is kept."""

from __future__ import annotations

import pytest

from support.caching import SOA, reply, request_with
from support.chain import make_directive
from waypost.plugins.cache.config import Config, parse
from waypost.plugins.cache.verdict import Kind, judge
from waypost.wire import consts
from waypost.wire.edns import DO, Opt

WALL = 1_700_000_000.0  # 2023-11-14
SOA_60 = (SOA.format(ttl=60, minimum=20),)
NS = ("example.org. 50 IN NS ns.example.org.",)
CNAME = "@ 40 IN CNAME gone.example.org."
NOERROR, NXDOMAIN = consts.NOERROR, consts.NXDOMAIN


def config(text: str = "cache 100") -> Config:
    return parse(make_directive(text))


@pytest.mark.parametrize(
    ("rcode", "answer", "authority", "kind", "ttl", "lifetime"),
    [
        (NOERROR, ("@ 30 IN A 192.0.2.1",), (), Kind.ANSWER, 30, 30),
        (NOERROR, ("@ 30 IN A 192.0.2.1",), NS, Kind.ANSWER, 30, 30),
        (NOERROR, ("@ 3600 IN A 192.0.2.1",), NS, Kind.ANSWER, 50, 50),
        (NOERROR, ("@ 3600 IN A 192.0.2.1",), (), Kind.ANSWER, 100, 100),
        (NOERROR, ("@ 0 IN A 192.0.2.1",), (), Kind.ANSWER, 5, 5),
        (NOERROR, (CNAME, "gone.example.org. 12 IN A 192.0.2.1"), (), Kind.ANSWER, 12, 12),
        (NOERROR, ("gone.example.org. 12 IN A 192.0.2.1", CNAME), (), Kind.ANSWER, 12, 12),
        (NOERROR, (), (), Kind.EMPTY, 5, 5),
        (NOERROR, (), NS, Kind.DELEGATION, 5, 5),
        (NOERROR, (), SOA_60, Kind.NODATA, 60, 60),
        (NOERROR, (CNAME,), SOA_60, Kind.NODATA, 40, 40),
        (NOERROR, (CNAME,), (), Kind.DANGLING, 40, 0),
        (NOERROR, ("@ 20 IN AAAA 2001:db8::1",), (), Kind.DANGLING, 20, 0),
        (NOERROR, ("other.example.org. 20 IN A 192.0.2.1",), (), Kind.DANGLING, 20, 0),
        (NXDOMAIN, (), SOA_60, Kind.NXDOMAIN, 60, 60),
        (NXDOMAIN, (), (SOA.format(ttl=3600, minimum=7),), Kind.NXDOMAIN, 100, 100),
        (NXDOMAIN, (), (), Kind.NXDOMAIN, 5, 0),
        (NXDOMAIN, (CNAME,), SOA_60, Kind.OTHER, 5, 0),
        (consts.SERVFAIL, (), SOA_60, Kind.ERROR, 5, 5),
        (consts.NOTIMP, (), (), Kind.ERROR, 5, 5),
        (consts.REFUSED, (), SOA_60, Kind.OTHER, 5, 0),
        (consts.FORMERR, (), (), Kind.OTHER, 5, 0),
    ],
)
def test_kinds(
    rcode: int, answer: tuple[str, ...], authority: tuple[str, ...], kind: Kind, ttl: int, lifetime: float
) -> None:
    request = request_with()
    verdict = judge(request.query, reply(request, *answer, rcode=rcode, authority=authority), config(), WALL)
    assert (verdict.kind, verdict.ttl, verdict.lifetime) == (kind, ttl, lifetime)


def test_the_lowest_ttl_of_all_sections_counts_but_not_below_the_minimum_nor_above_the_cap() -> None:
    request = request_with()
    made = reply(request, "@ 300 IN A 192.0.2.1", additional=("x.example.org. 60 IN A 192.0.2.2",))
    assert judge(request.query, made, config("cache"), WALL).ttl == 60
    assert judge(request.query, made, config("cache {\nsuccess 1000 7200 90\n}"), WALL).ttl == 90
    assert judge(request.query, made, config("cache {\nsuccess 1000 10 90\n}"), WALL).ttl == 10


def test_a_cap_above_an_hour_holds() -> None:
    request = request_with()
    made = reply(request, "@ 86400 IN A 192.0.2.1")
    assert judge(request.query, made, config("cache {\nsuccess 1000 7200\n}"), WALL).ttl == 7200


def test_ttl_0_is_not_kept_when_the_minimum_allows_it() -> None:
    request = request_with()
    verdict = judge(request.query, reply(request, "@ 0 IN A 192.0.2.1"), config("cache {\nsuccess 1000 60 0\n}"), WALL)
    assert (verdict.ttl, verdict.lifetime, verdict.usable) == (0, 0, True)


def test_denial_limits_apply_to_nodata_and_nxdomain_only() -> None:
    request = request_with()
    limited = config("cache 100 {\ndenial 1000 7\n}")
    assert judge(request.query, reply(request, CNAME, authority=SOA_60), limited, WALL).ttl == 7
    assert judge(request.query, reply(request, "@ 30 IN A 192.0.2.1"), limited, WALL).ttl == 30


def test_minimum_bounds_denials_if_wanted_and_nothing_else() -> None:
    request = request_with()
    wanted = config("cache 100 {\nsoa_minimum\ndenial 1000 100 0\n}")
    both = (SOA.format(ttl=60, minimum=20), SOA.format(ttl=60, minimum=9))
    assert judge(request.query, reply(request, CNAME, authority=SOA_60), wanted, WALL).ttl == 20
    assert judge(request.query, reply(request, authority=both), wanted, WALL).ttl == 9
    assert judge(request.query, reply(request, "@ 30 IN A 192.0.2.1", authority=SOA_60), wanted, WALL).ttl == 30
    assert judge(request.query, reply(request, rcode=NXDOMAIN), wanted, WALL).ttl == 5
    at_once = reply(request, rcode=NXDOMAIN, authority=(SOA.format(ttl=60, minimum=0),))
    assert judge(request.query, at_once, wanted, WALL)[1:3] == (0, 0)


def test_truncated_replies_and_transfers_are_not_kept_and_replace_nothing() -> None:
    request = request_with()
    cut = judge(request.query, reply(request, "@ 30 IN A 192.0.2.1", flags=consts.TC), config(), WALL)
    assert (cut.ttl, cut.lifetime, cut.usable) == (30, 0, False)
    request = request_with(qtype="AXFR")
    verdict = judge(request.query, reply(request, "@ 300 IN A 192.0.2.1"), config(), WALL)
    assert (verdict.kind, verdict.ttl, verdict.lifetime, verdict.usable) == (Kind.TRANSFER, 5, 0, False)


@pytest.mark.parametrize(
    ("inception", "expiration", "kind"),
    [
        ("20200101000000", "20210101000000", Kind.OTHER),
        ("20300101000000", "20310101000000", Kind.OTHER),
        ("20200101000000", "20300101000000", Kind.ANSWER),
    ],
)
def test_signatures_out_of_date(inception: str, expiration: str, kind: Kind) -> None:
    request = request_with(do=True)
    signature = f"@ 50 IN RRSIG A 13 3 50 {expiration} {inception} 1 example.org. AAAA"
    made = reply(request, "@ 50 IN A 192.0.2.1", signature).replace(opt=Opt(1232, 0, DO))
    assert judge(request.query, made, config(), WALL).kind is kind
    plain = made.replace(opt=None)
    assert judge(request.query, plain, config(), WALL).kind is Kind.ANSWER


def test_any_is_answered_by_anything() -> None:
    request = request_with(qtype="ANY")
    made = reply(request, "@ 50 IN A 192.0.2.1")
    assert judge(request.query, made, config(), WALL).kind is Kind.ANSWER


def test_a_cname_loop_ends() -> None:
    request = request_with()
    made = reply(request, CNAME, "gone.example.org. 40 IN CNAME www.example.org.")
    assert judge(request.query, made, config(), WALL).kind is Kind.DANGLING


def test_servfail_lifetime_keeps_fractions_and_0_switches_it_off() -> None:
    request = request_with()
    made = reply(request, rcode=consts.SERVFAIL)
    assert judge(request.query, made, config("cache {\nservfail 1500ms\n}"), WALL)[1:3] == (1, 1.5)
    assert judge(request.query, made, config("cache {\nservfail 0\n}"), WALL)[1:3] == (0, 0)
