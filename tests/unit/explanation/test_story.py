"""Which query of a look-up its result is due to, and what is said at the end."""

from __future__ import annotations

from support.told import make_told
from waypost.dispatch.trace import ANSWERED, UNASKED, Note
from waypost.explanation.story import Story
from waypost.podside.cascade import Cascade

MISSING = make_told(
    "web.prod.svc.cluster.local.", Note("kubernetes", "namespace prod does not exist", ANSWERED), rcode="NXDOMAIN"
)
LONGER = make_told(
    "web.prod.default.svc.cluster.local.", Note("kubernetes", "no Service prod", ANSWERED), rcode="NXDOMAIN"
)
OUTSIDE = make_told("web.prod.", Note("forward", "upstream says so", ANSWERED), rcode="NXDOMAIN")
BROKEN = make_told("web.prod.", Note("forward", "no upstream answered", ANSWERED), rcode="SERVFAIL")
UNKNOWN = make_told("web.prod.", Note("forward", "would ask", UNASKED), rcode="SERVFAIL")


def story(*told, result: str, name: str = "web.prod", decided: str = "web.prod."):  # type: ignore[no-untyped-def]
    addresses = ("10.96.0.7",) if result == "addresses" else ()
    return Story(name, "default", "cluster.local", Cascade((), result, addresses, decided), told)


def test_where_no_name_exists_the_one_that_was_meant_counts() -> None:
    made = story(LONGER, MISSING, OUTSIDE, result="nxdomain")
    assert made.decisive is MISSING
    assert made.closing == ("NXDOMAIN from kubernetes: namespace prod does not exist; none of the 3 names tried exists")


def test_a_name_outside_the_cluster_means_itself() -> None:
    others = [make_told(f"api.example.com.{end}", rcode="NXDOMAIN") for end in ("svc.cluster.local.", "cluster.local.")]
    own = make_told("api.example.com.", Note("forward", "upstream says so", ANSWERED), rcode="NXDOMAIN")
    made = story(*others, own, result="nxdomain", name="api.example.com", decided="api.example.com.")
    assert made.decisive is own


def test_what_was_found() -> None:
    note = Note("kubernetes", "Service shop/web", ANSWERED)
    name = "web.shop.svc.cluster.local."
    found = make_told(name, note, answer=(f"{name} 5 IN A 10.96.0.7",))
    empty = make_told(name, note, qtype="AAAA")
    made = story(LONGER, empty, found, result="addresses", name="web.shop", decided=name)
    assert made.decisive is found
    assert made.closing == (f"10.96.0.7 from kubernetes: Service shop/web; asked for as {name}, one of 2 names tried")


def test_a_failure_ends_the_search() -> None:
    made = story(LONGER, MISSING, BROKEN, result="servfail")
    assert made.decisive is BROKEN
    assert made.closing == (
        "SERVFAIL from forward: no upstream answered; asked for as web.prod., one of 3 names tried; before that "
        "web.prod.svc.cluster.local. was NXDOMAIN from kubernetes: namespace prod does not exist"
    )
    assert story(BROKEN, result="servfail").closing == "SERVFAIL from forward: no upstream answered"


def test_what_was_not_asked_is_not_known() -> None:
    made = story(LONGER, MISSING, UNKNOWN, result="nxdomain")
    assert made.result == made.as_json()["result"] == "unknown"
    assert made.closing == (
        "NXDOMAIN from kubernetes: namespace prod does not exist; whether web.prod. exists was not asked"
    )
    assert story(UNKNOWN, result="nxdomain").closing == "not known: forward: would ask"


def test_nobody_was_asked() -> None:
    made = Story("localhost", "default", "cluster.local", Cascade((), "addresses", ("127.0.0.1",), ""), ())
    assert made.decisive is None
    assert made.closing == "127.0.0.1: the resolver knows this by itself and asks nobody"


def test_json() -> None:
    value = story(LONGER, MISSING, OUTSIDE, result="nxdomain").as_json()
    assert [query["sentence"] for query in value["queries"]][1] == (  # type: ignore[attr-defined,index]
        "NXDOMAIN from kubernetes: namespace prod does not exist"
    )
    assert value["sentence"] == (
        "NXDOMAIN from kubernetes: namespace prod does not exist; none of the 3 names tried exists"
    )
