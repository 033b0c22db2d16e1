from waypost.toolkit.zonelist import ZoneList, fallthrough_of, zones_of
from waypost.wire import names


def name(text: str) -> bytes:
    return names.from_text(text)


def test_the_longest_zone_matches() -> None:
    zones = zones_of(["org", "Example.ORG", "."], ())
    assert zones.match(name("www.example.org")) == name("example.org")
    assert zones.match(name("example.org")) == name("example.org")
    assert zones.match(name("xexample.org")) == name("org")
    assert zones.match(name("com")) == name(".")


def test_without_arguments_the_block_s_zones_hold() -> None:
    assert zones_of([], (name("a.org"),)) == ZoneList(frozenset((name("a.org"),)))


def test_an_empty_list_covers_nothing_and_a_bare_fallthrough_everything() -> None:
    assert not ZoneList().covers(name("."))
    assert fallthrough_of([]).covers(name("a.b.c"))
    assert fallthrough_of([]).covers(name("."))
    assert not fallthrough_of(["a.org"]).covers(name("b.org"))


def test_networks_are_reverse_zones_and_nonsense_is_left_out() -> None:
    assert zones_of(["10.0.0.0/8", "a..b"], ()).zones == {name("10.in-addr.arpa")}
    assert zones_of(["a..b"], (name("."),)).zones == frozenset()
