"""Whatever the name, the file and the replies: a cascade stays within what its resolver can send."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waypost.podside.cascade import RESOLVERS, cascade
from waypost.podside.nodefile import NodeFile, NodeFileError
from waypost.podside.policy import MAX_NAME, MAX_NAMESERVERS, MAX_SEARCH_LINE, MAX_SEARCHES, Kubelet, PodDns
from waypost.podside.replies import NO_REPLY, RCODES, Asked, Record, Reply
from waypost.podside.resolvconf import build
from waypost.podside.resolvers.lookup import FAMILIES, Lookup
from waypost.podside.resolvers.transcript import TooManyQueries

MAX_SENDS = {"glibc": 5 * 3 * (2 + 2 + 2 + 2), "musl": 11 * (2 * 3 + 4) + 2}
"""For one name: attempts, servers, a pair with its fallbacks and TCP; rounds, types, servers, repeats, TCP."""

WORDS = st.text(alphabet="ab.-_1\xe9\udcff", max_size=12)
LINES = st.one_of(
    st.builds("search {}".format, st.lists(WORDS, max_size=5).map(" ".join)),
    st.builds(
        "nameserver {}".format, st.sampled_from(["10.0.0.1", "10.0.0.2", "fd00::1", "x", "10.0.0.3", "10.0.0.4"])
    ),
    st.builds("options {}:{}".format, st.sampled_from(["ndots", "attempts", "timeout"]), st.integers(-2, 20)),
    st.builds(
        "options {}".format,
        st.sampled_from(
            ["use-vc", "no-aaaa", "single-request", "single-request-reopen", "edns0", "rotate", "no-tld-query"]
        ),
    ),
    st.text(max_size=20),
)
MANY_SERVERS = "\n".join(f"nameserver 10.0.0.{place}" for place in range(1, 6))
FILES = st.lists(LINES | st.just(MANY_SERVERS), max_size=8).map("\n".join)
REPLIES = st.builds(
    Reply,
    st.sampled_from((*RCODES, *NO_REPLY)),
    st.sampled_from([(), (Record("A", "10.0.0.7"),), (Record("AAAA", "fd00::7"),), (Record("CNAME", "x."),)]),
    *[st.booleans()] * 4,
)


@pytest.mark.parametrize("resolver", RESOLVERS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_within_limits(resolver: str, data: st.DataObject) -> None:
    name, conf = data.draw(st.text(alphabet="ab.-_1\xe9", max_size=20)), data.draw(FILES)
    family = data.draw(st.sampled_from(list(FAMILIES)))
    world: dict[tuple[str, str, str, str], Reply] = {}

    def answer(asked: Asked) -> Reply:
        if asked[:4] not in world:
            world[asked[:4]] = data.draw(REPLIES)
        return world[asked[:4]]

    try:
        made = cascade(Lookup(name, conf, family, "pod-0.a.b"), resolver, answer)
    except TooManyQueries:
        assert resolver in ("go", "c-ares")
        return
    for query in made.queries:
        raw = query.name.encode("utf-8", "surrogateescape")
        assert query.name.endswith(".")
        assert len(raw) <= MAX_NAME + 1
        assert query.name == "." or all(0 < len(label) <= 63 for label in raw[:-1].split(b"."))
        assert query.type in FAMILIES[family] or ("no-aaaa" in conf and resolver == "glibc")
    if resolver != "c-ares":
        assert len({query.server for query in made.queries}) <= 3
    if resolver in MAX_SENDS:
        names = len(conf.split()) + 2  # every word a domain, that of the host, and the name as it is
        assert len(made.queries) <= names * MAX_SENDS[resolver]
    assert 0 <= made.wasted <= len(made.queries)
    assert made.conntrack_entries <= len(made.queries)
    assert (made.result == "addresses") == bool(made.addresses)


@given(text=st.binary(max_size=200) | FILES.map(lambda text: text.encode("utf-8", "surrogateescape")))
@settings(deadline=None)
def test_kubelet_stays_within_its_limits(text: bytes) -> None:
    try:
        conf = build(PodDns(), Kubelet(("10.96.0.10",) * 4, "cluster.local"), NodeFile(text))
    except NodeFileError:
        return
    assert len(conf.nameservers) <= MAX_NAMESERVERS
    assert len(conf.searches) <= MAX_SEARCHES
    assert len(" ".join(conf.searches).encode("utf-8", "surrogateescape")) <= MAX_SEARCH_LINE
