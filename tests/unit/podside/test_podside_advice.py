"""What a cascade advises, and the spellings of a target."""

from __future__ import annotations

import pytest

from waypost.podside.advice import advise, existing
from waypost.podside.cascade import cascade
from waypost.podside.replies import Reply, Zone
from waypost.podside.resolvers.lookup import Lookup
from waypost.podside.spellings import Spelling, Target, cluster_target, guessed_target

SHOP = "search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"


def advice(name: str, found: str = "", resolver: str = "glibc", conf: str = SHOP) -> list[str]:
    lookup = Lookup(name, conf)
    return advise(lookup, resolver, cascade(lookup, resolver, existing(found) if found else Zone({})))


def test_nothing_to_gain() -> None:
    assert advice("web", "web.shop.svc.cluster.local.") == []
    assert advice("api.example.com.", "api.example.com.") == []
    assert advice("nope") == []


@pytest.mark.parametrize("found", ["api.example.com.", ""])
def test_a_name_with_its_final_dot_needs_no_other_spelling(found: str) -> None:
    """Queries sent again after a lost one are wasted, too, but the dot is there."""
    lookup = Lookup("api.example.com.", SHOP)
    world = existing(found) if found else Zone({})
    lost = Zone({**world.replies, "api.example.com./AAAA": (Reply("DROP"), Reply())})
    made = cascade(lookup, "glibc", lost)
    assert advise(lookup, "glibc", made) == []


def test_external_name() -> None:
    dot, ndots = advice("api.example.com", "api.example.com.")
    assert dot == "write api.example.com. with the final dot: 2 queries instead of 8"
    assert ndots == (
        "or dnsConfig options ndots:2: 2 queries instead of 8; but <service>.<namespace>.svc is then asked as it is "
        "first, one more query of each type"
    )


def test_ndots_costs_musl_the_search_list() -> None:
    assert advice("example.com", "example.com.", "musl")[-1].endswith(
        "but musl then never tries <service>.<namespace> with the search list"
    )


def test_service_of_another_namespace() -> None:
    assert advice("db.data.svc.cluster.local", "db.data.svc.cluster.local.")[1] == (
        "or db.data, which no change of the cluster domain breaks: 4 queries instead of 8"
    )


def test_service_of_the_own_namespace() -> None:
    assert advice("web.shop.svc.cluster.local", "web.shop.svc.cluster.local.")[1].startswith("or web, ")


def test_missing_name() -> None:
    assert advice("api.example.com") == [
        "if api.example.com. is the whole name, write the final dot: 2 queries instead of 8"
    ]


@pytest.mark.parametrize(
    ("resolver", "conf", "text"),
    [
        ("glibc", SHOP + "options attempts:0\n", "attempts:0: glibc fails without a query"),
        ("musl", SHOP + "options attempts:0\n", "attempts:0: musl dies of a division by zero"),
        ("musl", SHOP + "options timeout:0\n", "timeout:0: musl fails without a query"),
        ("musl", f"search {'a' * 248}\n", "musl ignores the search line: it is longer than 254 bytes"),
        ("musl", SHOP.replace("5", "0"), "musl does not use the search list for a name with 0 or more dots"),
    ],
)
def test_traps(resolver: str, conf: str, text: str) -> None:
    assert text in advice("web", resolver=resolver, conf=conf)


def test_spellings() -> None:
    target = cluster_target("web.shop.svc.cluster.local.", "cluster.local")
    assert target == Target("web.shop.svc.cluster.local", "web", "shop")
    assert target.spellings("shop") == [
        Spelling("web", "shop"),
        Spelling("web.shop", "default"),
        Spelling("web.shop.svc", "default"),
        Spelling("web.shop.svc.cluster.local", "default"),
        Spelling("web.shop.svc.cluster.local.", "default"),
    ]
    assert {spelling.namespace for spelling in target.spellings("data")} == {"shop", "data"}


def test_spellings_of_a_name_outside() -> None:
    target = cluster_target("api.example.com.", "cluster.local")
    assert target.spellings("shop") == [Spelling("api.example.com", "shop"), Spelling("api.example.com.", "shop")]


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("web", "web.shop.svc.cluster.local"),
        ("db.data", "db.data.svc.cluster.local"),
        ("db.data.svc", "db.data.svc.cluster.local"),
        ("db-0.db.data.svc", "db-0.db.data.svc.cluster.local"),
        ("db.data.svc.cluster.local", "db.data.svc.cluster.local"),
        ("api.example.com", "api.example.com"),
        ("example.com.", "example.com"),
        ("svc.cluster.local.", "svc.cluster.local"),
    ],
)
def test_guessed_target(name: str, target: str) -> None:
    assert guessed_target(name, "cluster.local", "shop").name == target
