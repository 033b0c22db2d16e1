"""The sentence that says why a query was answered as it was."""

from __future__ import annotations

import pytest

from support.told import make_told
from waypost.dispatch.trace import ANSWERED, CHANGED, NOTED, PASSED, UNASKED, Note
from waypost.explanation.sentence import outcome, sentence
from waypost.explanation.told import Told

SERVER = Note("server", "the block .:53 takes the query")
MISS = Note("cache", "miss")
ELSEWHERE = Note("kubernetes", "serves cluster.local. only", PASSED)
FORWARD = Note("forward", "upstream 192.0.2.1:53 over udp answered NXDOMAIN", ANSWERED)
WEB = Note("kubernetes", "Service shop/web has the cluster address 10.96.0.7", ANSWERED)
ADDRESS = "web. 5 IN A 10.96.0.7"


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (make_told("web.", SERVER, WEB, answer=(ADDRESS,)),
         "10.96.0.7 from kubernetes: Service shop/web has the cluster address 10.96.0.7"),
        (make_told("a.", MISS, ELSEWHERE, FORWARD, rcode="NXDOMAIN"),
         ("NXDOMAIN from forward: upstream 192.0.2.1:53 over udp answered NXDOMAIN, "
         "because kubernetes serves cluster.local. only")),
        (make_told("a.", Note("rewrite", "a. A -> web. A", CHANGED), WEB, answer=(ADDRESS,)),
         ("10.96.0.7 from kubernetes: Service shop/web has the cluster address 10.96.0.7, "
         "after rewrite a. A -> web. A")),
        # A search walked by the server: what the names before the last were due to is beside the point.
        (make_told("a.", ELSEWHERE, FORWARD, Note("autopath", "tries web.", NOTED), WEB, answer=(ADDRESS,)),
         "10.96.0.7 from kubernetes: Service shop/web has the cluster address 10.96.0.7"),
        # What a plugin looks up to complete its answer follows it.
        (make_told("a.", Note("kubernetes", "an ExternalName for b.", ANSWERED), FORWARD._replace(depth=1),
                   answer=("a. 5 IN CNAME b.",)),
         ("a CNAME alone from kubernetes: an ExternalName for b.; "
         "forward: upstream 192.0.2.1:53 over udp answered NXDOMAIN")),
        (make_told("a.", ELSEWHERE, Note("forward", "would ask one of the upstreams 192.0.2.1:53", UNASKED)),
         ("not known: forward: would ask one of the upstreams 192.0.2.1:53, "
         "because kubernetes serves cluster.local. only")),
        (make_told("a.", SERVER, rcode="REFUSED"),
         "REFUSED: the block .:53 answers so, and none of its plugins says why"),
        (make_told("a.", Note("acl", "stopped by drop in Corefile:4", ANSWERED), rcode="DROP"),
         "no reply from acl: stopped by drop in Corefile:4"),
    ],
)  # fmt: skip
def test_sentences(told: Told, expected: str) -> None:
    assert sentence(told) == expected


def test_outcomes() -> None:
    assert outcome(make_told("a.")) == "NODATA"
    many = tuple(f"a. 5 IN A 10.0.0.{n}" for n in range(1, 6))
    told = make_told("a.", answer=many)
    assert outcome(told).endswith(" and 2 more")
    assert outcome(told).count(", ") == 2
    assert outcome(make_told("a.", rcode="FORMERR")) == "FORMERR"
