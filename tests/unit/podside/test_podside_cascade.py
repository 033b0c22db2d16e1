"""The queries of the resolvers, judged query by query against what the real ones sent."""

from __future__ import annotations

from typing import Any

import pytest

from support.podside import cases, zone_of
from waypost.podside.cascade import Cascade, cascade
from waypost.podside.replies import Zone, read_zone
from waypost.podside.resolvers.lookup import Lookup
from waypost.podside.resolvers.transcript import TooManyQueries

CONF = "search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
OK = {"rcode": "NOERROR", "records": [{"type": "A", "data": "10.96.0.7"}]}


@pytest.mark.parametrize("case", cases("cascade"))
def test_recorded(case: dict[str, Any]) -> None:
    lookup = Lookup(
        case["name"], case["resolv_conf"], case["family"], case.get("hostname", "pod-0"), case.get("env", {})
    )
    made = cascade(lookup, case["resolver"], zone_of(case))
    assert [[query.name, query.type] for query in made.queries] == case["expect_queries"]
    assert (made.result, list(made.addresses)) == (case["result"], case["addresses"])
    trace = [
        {
            "server": query.server,
            "transport": query.transport,
            "socket": query.socket,
            "edns": query.edns,
            "reply": query.reply + ("+TC" if query.truncated else ""),
        }
        for query in made.queries
    ]
    assert trace == case["trace"]


def look_up(name: str, resolver: str, zone: dict[str, Any], conf: str = CONF, family: str = "unspec") -> Cascade:
    return cascade(Lookup(name, conf, family), resolver, read_zone(zone))


def asked(made: Cascade) -> list[str]:
    return [f"{query.name} {query.type}" for query in made.queries]


@pytest.mark.parametrize(
    ("name", "zone", "wasted"),
    [
        ("web", {"web.shop.svc.cluster.local./A": OK}, 0),
        ("api.example.com", {"api.example.com./A": OK}, 6),
        ("api.example.com.", {"api.example.com./A": OK}, 0),
        ("api.example.com", {}, 6),
        ("a.b.c.d.e.f", {}, 6),
        ("web", {"web.shop.svc.cluster.local./A": [{"rcode": "DROP"}, OK]}, 2),
        ("10.96.0.7", {}, 0),
    ],
)
def test_wasted(name: str, zone: dict[str, Any], wasted: int) -> None:
    assert look_up(name, "glibc", zone).wasted == wasted


@pytest.mark.parametrize(("resolver", "entries"), [("glibc", 4), ("musl", 4), ("go", 8), ("c-ares", 1)])
def test_conntrack_entries(resolver: str, entries: int) -> None:
    assert look_up("api.example.com", resolver, {"api.example.com./A": OK}).conntrack_entries == entries


def test_glibc_loses_the_nameserver_of_a_dos_file() -> None:
    made = look_up("web.", "glibc", {}, CONF.replace("\n", "\r\n"))
    assert {query.server for query in made.queries} == {"127.0.0.1"}


def test_glibc_strips_a_leading_dot_of_a_domain() -> None:
    made = look_up("web", "glibc", {}, "search .a.example\nnameserver 10.96.0.10\n", "inet")
    assert asked(made) == ["web.a.example. A", "web. A"]


@pytest.mark.parametrize("resolver", ["musl", "go"])
def test_others_skip_it(resolver: str) -> None:
    made = look_up("web", resolver, {}, "search .a.example\nnameserver 10.96.0.10\n", "inet")
    assert asked(made) == ["web. A"]


def test_glibc_throws_a_lone_aaaa_away() -> None:
    zone = {
        "web.shop.svc.cluster.local./A": {"rcode": "DROP"},
        "web.shop.svc.cluster.local./AAAA": {"rcode": "NOERROR", "records": [{"type": "AAAA", "data": "fd00::7"}]},
    }
    made = look_up("web", "glibc", zone)
    service = "web.shop.svc.cluster.local."
    assert asked(made) == [f"{service} A", f"{service} AAAA", f"{service} A", f"{service} A", "web. A", "web. AAAA"]
    assert made.result == "nxdomain"


def test_glibc_one_candidate_follows_when_nobody_listens() -> None:
    made = look_up("a.b.c.d.e.f", "glibc", {"@10.96.0.10": {"rcode": "UNREACHABLE"}}, family="inet")
    assert asked(made) == ["a.b.c.d.e.f. A"] * 2 + ["a.b.c.d.e.f.shop.svc.cluster.local. A"] * 2
    assert made.result == "unreachable"


def test_glibc_accepts_any_rcode_over_tcp() -> None:
    servfail = {"rcode": "SERVFAIL"}
    zone = {"web.shop.svc.cluster.local./A": servfail, "web.shop.svc.cluster.local./AAAA": servfail}
    made = look_up("web", "glibc", zone, CONF + "options use-vc\n")
    assert asked(made)[:3] == [
        "web.shop.svc.cluster.local. A",
        "web.shop.svc.cluster.local. AAAA",
        "web.svc.cluster.local. A",
    ]


def test_musl_sends_a_round_more_when_attempts_do_not_divide_the_timeout() -> None:
    made = look_up("web.", "musl", {"web./A": {"rcode": "DROP"}}, "nameserver 10.96.0.10\noptions attempts:3\n", "inet")
    assert asked(made) == ["web. A"] * 4


@pytest.mark.parametrize("option", ["attempts:0", "timeout:0"])
def test_musl_without_attempts_or_time(option: str) -> None:
    made = look_up("web", "musl", {}, CONF + f"options {option}\n")
    assert (asked(made), made.result) == ([], "unanswered")


def test_musl_fails_when_tcp_does() -> None:
    zone = {"web./A": [{"rcode": "NOERROR", "tc": True}, {"rcode": "DROP"}]}
    made = look_up("web.", "musl", zone, family="inet")
    assert ([query.transport for query in made.queries], made.result) == (["udp", "tcp"], "timeout")


def test_go_asks_for_the_root() -> None:
    assert asked(look_up(".", "go", {}, family="inet")) == [". A"]


class TestCares:
    def test_stops_at_servfail(self) -> None:
        servfail = {"rcode": "SERVFAIL"}
        zone = {"web.shop.svc.cluster.local./A": servfail, "web.shop.svc.cluster.local./AAAA": servfail}
        made = look_up("web", "c-ares", zone)
        assert asked(made) == ["web.shop.svc.cluster.local. A", "web.shop.svc.cluster.local. AAAA"] * 3
        assert made.result == "servfail"

    def test_single_label_goes_on(self) -> None:
        zone = {"web./A": {"rcode": "SERVFAIL"}, "web.x./A": OK}
        made = look_up("web", "c-ares", zone, "search . x\nnameserver 10.96.0.10\noptions ndots:5\n", "inet")
        assert asked(made) == ["web. A"] * 3 + ["web.x. A"]

    def test_root_is_asked_twice(self) -> None:
        made = look_up("web", "c-ares", {}, "search .\nnameserver 10.96.0.10\noptions ndots:5\n", "inet")
        assert asked(made) == ["web. A", "web. A"]

    def test_aaaa_is_not_repeated_once_a_is_there(self) -> None:
        zone = {"web.shop.svc.cluster.local./A": OK, "web.shop.svc.cluster.local./AAAA": {"rcode": "DROP"}}
        made = look_up("web", "c-ares", zone)
        assert (len(made.queries), made.result) == (2, "addresses")

    def test_nodata_goes_on(self) -> None:
        made = look_up("web", "c-ares", {"web.shop.svc.cluster.local./A": {"rcode": "NOERROR"}}, family="inet")
        assert (len(made.queries), made.result) == (4, "nodata")

    def test_formerr_is_asked_without_edns(self) -> None:
        made = look_up("web.", "c-ares", {"web./A": [{"rcode": "FORMERR"}, OK]}, family="inet")
        assert [query.edns for query in made.queries] == [True, False]
        assert made.result == "addresses"

    @pytest.mark.parametrize("name", ["localhost", "a.localhost.", "x.onion", "10.96.0.7", "fd00::7"])
    def test_nothing_leaves(self, name: str) -> None:
        assert look_up(name, "c-ares", {}).queries == ()

    def test_numbers_are_names(self) -> None:
        assert len(look_up("123", "c-ares", {}, family="inet").queries) == 4


def test_too_many_queries() -> None:
    conf = "nameserver 10.96.0.10\noptions attempts:100000\n"
    with pytest.raises(TooManyQueries):
        cascade(Lookup("web.", conf), "go", read_zone({"@10.96.0.10": {"rcode": "SERVFAIL"}}))


@pytest.mark.parametrize("resolver", ["glibc", "musl", "go", "c-ares"])
@pytest.mark.parametrize(
    "name", ["", ".", "..", "a..b", "x" * 64, "x." * 130, "\udcff", "a\nb", "\N{SNOWMAN}", "-", "1.2.3"]
)
def test_odd_names(resolver: str, name: str) -> None:
    cascade(Lookup(name, CONF), resolver, Zone({}))
