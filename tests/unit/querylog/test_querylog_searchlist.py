"""Useless queries of search lists, judged by the resolvers themselves."""

from __future__ import annotations

import pytest

from support.querylog import survey_of
from waypost.podside.advice import existing
from waypost.podside.cascade import Cascade, cascade
from waypost.podside.replies import Zone
from waypost.podside.resolvers.lookup import Lookup
from waypost.querylog.record import Query
from waypost.querylog.survey import Settings

SEARCH = "search shop.svc.cluster.local svc.cluster.local cluster.local{}\nnameserver 10.96.0.10\noptions ndots:{}\n"


def walk(name: str, found: str, resolver: str, *, more: str = "", ndots: int = 5) -> Cascade:
    answer = existing(found) if found else Zone({})
    return cascade(Lookup(name, SEARCH.format(more, ndots)), resolver, answer)


def queries(made: Cascade, client: str = "10.0.0.1") -> list[Query]:
    return [Query(query.name.lower(), query.type, query.reply, client) for query in made.queries]


@pytest.mark.parametrize("resolver", ["glibc", "go", "musl", "c-ares"])
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("web", "web.shop.svc.cluster.local."),
        ("web.other", "web.other.svc.cluster.local."),
        ("web.other.svc", "web.other.svc.cluster.local."),
        ("web.other.svc.cluster.local", "web.other.svc.cluster.local."),
        ("db-0.db.other", "db-0.db.other.svc.cluster.local."),
        ("example.com", "example.com."),
        ("api.eu.example.com", "api.eu.example.com."),
        ("api.example.com.", "api.example.com."),
        ("a.b.c.d.e.example.com", "a.b.c.d.e.example.com."),
        ("missing.example.com", ""),
        ("missing", ""),
        ("missing.other.svc", ""),
    ],
)
def test_useless_is_what_the_cascade_wasted(resolver: str, name: str, found: str) -> None:
    made = walk(name, found, resolver)
    lookups = 3
    survey = survey_of([query for _ in range(lookups) for query in queries(made)])
    assert survey.search_list.useless == lookups * made.wasted
    assert survey.clients.top()[0].value.useless == lookups * made.wasted
    stems = {slot.key: slot.count for slot in survey.search_list.stems.top()}
    assert stems == ({name.removesuffix("."): lookups * made.wasted} if made.wasted else {})


def test_domains_that_nodes_add() -> None:
    made = walk("api.example.com", "api.example.com.", "glibc", more=" corp.example")
    survey = survey_of(queries(made), Settings(searches=("corp.example",)))
    assert survey.search_list.useless == made.wasted == 8


def test_the_stem_knows_what_was_found_and_from_where() -> None:
    survey = survey_of(queries(walk("web.other", "web.other.svc.cluster.local.", "glibc")))
    (slot,) = survey.search_list.stems.top()
    assert (slot.value.found, slot.value.namespace) == ("web.other.svc.cluster.local.", "shop")
    assert survey.clients.top()[0].value.search_namespace == "shop"


def test_stems_of_several_namespaces() -> None:
    one = queries(walk("example.com", "example.com.", "glibc"))
    other = [query._replace(name=query.name.replace(".shop.", ".infra."), client="10.0.0.2") for query in one]
    (slot,) = survey_of(one + other).search_list.stems.top()
    assert slot.value.namespace == "several"


def test_as_it_is_first_then_the_search_list() -> None:
    made = walk("web.other", "", "glibc", ndots=1)
    survey = survey_of(queries(made))
    assert made.queries[0].name == "web.other."
    assert survey.search_list.useless == 6


def test_clients_do_not_walk_for_each_other() -> None:
    made = queries(walk("web.other", "web.other.svc.cluster.local.", "glibc"))
    mixed = [query._replace(client=f"10.0.0.{number}") for number, query in enumerate(made)]
    assert survey_of(mixed).search_list.useless == 0


def test_without_clients_only_impossible_names_count() -> None:
    made = queries(walk("example.com", "example.com.", "glibc"), client="")
    assert survey_of(made).search_list.useless == 2
    made = queries(walk("api.example.com", "api.example.com.", "glibc"), client="")
    assert survey_of(made).search_list.useless == 4


def test_a_missing_service_is_no_waste() -> None:
    query = Query("gone.shop.svc.cluster.local.", "A", "NXDOMAIN", "10.0.0.1")
    assert survey_of([query] * 10).search_list.useless == 0


def test_walks_of_one_client_at_the_same_time() -> None:
    walks = [queries(walk(f"api-{number}.example.com", f"api-{number}.example.com.", "glibc")) for number in range(10)]
    mixed = [query for step in zip(*walks, strict=True) for query in step]
    assert survey_of(mixed).search_list.useless == 60


def test_what_is_remembered_of_a_client_is_bounded() -> None:
    names = [Query(f"a{number}.b.shop.svc.cluster.local.", "A", "NXDOMAIN", "10.0.0.1") for number in range(1_000)]
    survey = survey_of(names)
    assert len(survey.clients.top()[0].value.tries) <= 32
