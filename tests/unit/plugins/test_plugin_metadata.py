"""metadata: which zones, who is asked, and that values are worked out only when somebody wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from support.chain import FakeNext, make_directive, make_request, make_site
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.plugins.metadata import Config, parse, setup
from waypost.wire.reply import DROP


class Knowing(FakeNext):
    """A plugin that knows a label, and counts how often its value was wanted."""

    def __init__(self, label: str) -> None:
        super().__init__(DROP, name=label)
        self.label = label
        self.wanted = 0

    def metadata(self, request: Request) -> Iterable[tuple[str, Callable[[], str]]]:
        yield self.label, self.value

    def value(self) -> str:
        self.wanted += 1
        return f"value of {self.label}"


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("metadata", None),
        ("metadata Example.org a.net.", ("example.org.", "a.net.")),
        ("metadata 10.0.0.0/8", ("10.in-addr.arpa.",)),
        ("metadata {\n}", None),
    ],
)
def test_zones(text: str, zones: tuple[str, ...] | None) -> None:
    assert parse(make_directive(text)) == Config(zones)


@pytest.mark.parametrize("text", ["metadata\nmetadata", "metadata {\n foo\n}"])
def test_refused(text: str) -> None:
    with pytest.raises(CorefileError, match="Wrong argument count"):
        parse(make_directive(text))


def configure(text: str, *providers: FakeNext) -> Site:
    site = make_site("example.org")
    setup(make_directive(text), site)
    for provider in providers:
        site.add(provider)
    site.link()
    return site


def collected(site: Site, name: str) -> dict[str, Callable[[], str]] | None:
    request = make_request(name)
    assert site.collect is not None
    site.collect(request)
    return request.metadata


def test_every_provider_of_the_block_is_asked_and_no_value_worked_out() -> None:
    one, two = Knowing("a/x"), Knowing("b/y")
    found = collected(configure("metadata", one, FakeNext(DROP), two), "www.EXAMPLE.org.")
    assert found is not None
    assert set(found) == {"a/x", "b/y"}
    assert (one.wanted, two.wanted) == (0, 0)
    assert found["a/x"]() == "value of a/x"


def test_outside_the_zones_there_is_only_room_for_others() -> None:
    site = configure("metadata sub.example.org", Knowing("a/x"))
    assert collected(site, "www.example.org.") == {}
    assert set(collected(site, "a.sub.example.org.") or {}) == {"a/x"}


def test_what_another_block_collected_is_kept() -> None:
    request = make_request("example.org.")
    for site in (configure("metadata", Knowing("a/x")), configure("metadata", Knowing("b/y"))):
        assert site.collect is not None
        site.collect(request)
    assert set(request.metadata or {}) == {"a/x", "b/y"}


def test_in_the_chain_it_only_passes() -> None:
    following = FakeNext(DROP)
    site = configure("metadata", following)
    assert site.chain is not None
    request = make_request()
    assert site.chain.serve(request) is DROP
    assert following.seen == [request]
