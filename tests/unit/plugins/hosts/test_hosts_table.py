import pytest

from waypost.plugins.hosts.table import parse_address, parse_table
from waypost.toolkit.zonelist import ZoneList
from waypost.wire import addr, names

EVERYWHERE = ZoneList(frozenset((names.ROOT,)))


def name(text: str) -> bytes:
    return names.from_text(text)


def table_of(*lines: str, zones: ZoneList = EVERYWHERE, reverse: bool = True):
    return parse_table(("\n".join(lines),), zones, reverse=reverse)


def v4(table, text: str) -> list[str] | None:
    found = table.addresses(name(text))
    return None if found is None else [addr.unpack(packed) for packed in found.v4]


def test_addresses_keep_the_order_and_repetitions_of_the_lines() -> None:
    table = table_of("10.0.0.2 a.org b.org", "10.0.0.1 a.org", "10.0.0.2 a.org", "2001:db8::1 a.org")
    assert v4(table, "a.org") == ["10.0.0.2", "10.0.0.1", "10.0.0.2"]
    assert [addr.unpack(packed) for packed in table.addresses(name("a.org")).v6] == ["2001:db8::1"]
    assert table.names(addr.pack("10.0.0.2")) == (name("a.org"), name("b.org"), name("a.org"))
    assert table.entries == 10


def test_texts_are_taken_one_after_the_other() -> None:
    table = parse_table(("10.0.0.2 a.org", "10.0.0.1 a.org"), EVERYWHERE, reverse=True)
    assert v4(table, "a.org") == ["10.0.0.2", "10.0.0.1"]


@pytest.mark.parametrize(
    "line",
    ["# 10.0.0.1 a.org", "10.0.0 a.org", "999.1.1.1 a.org", "notanip a.org", "10.0.0.1", "10.0.0.010 a.org",
     "0x0a000001 a.org", "10.0.0.1#x a.org", "", "   ", "a.org 10.0.0.1"],
)  # fmt: skip
def test_lines_that_say_nothing(line: str) -> None:
    table = table_of(line)
    assert table.addresses(name("a.org")) is None
    assert table.entries == 0


def test_bad_names_are_left_out_and_good_ones_on_the_line_stay() -> None:
    table = table_of("10.0.0.1 a..b.org " + "x" * 64 + ".org \\999.org good.org # c.org")
    assert v4(table, "good.org") == ["10.0.0.1"]
    assert v4(table, "c.org") is None
    assert table.names(addr.pack("10.0.0.1")) == (name("good.org"),)


def test_names_are_in_lower_case_and_absolute() -> None:
    table = table_of("10.0.0.1 MiXed.ORG other.org.")
    assert v4(table, "mixed.org") == ["10.0.0.1"]
    assert v4(table, "other.org") == ["10.0.0.1"]


def test_names_outside_the_zones_are_left_out() -> None:
    table = table_of("10.0.0.1 a.org a.com", zones=ZoneList(frozenset((name("org"),))))
    assert v4(table, "a.com") is None
    assert table.names(addr.pack("10.0.0.1")) == (name("a.org"),)


def test_a_wildcard_stands_for_one_label_and_gives_way_to_the_name_itself() -> None:
    table = table_of("10.0.0.1 *.example.org", "10.0.0.2 a.example.org")
    assert v4(table, "apps.example.org") == ["10.0.0.1"]
    assert v4(table, "a.example.org") == ["10.0.0.2"]
    assert v4(table, "*.example.org") == ["10.0.0.1"]
    assert v4(table, "example.org") is None
    assert v4(table, "deep.apps.example.org") is None
    assert v4(table, ".") is None
    assert table.names(addr.pack("10.0.0.1")) == ()


def test_a_name_without_an_address_of_the_family_hides_the_wildcard() -> None:
    table = table_of("10.0.0.1 *.example.org", "2001:db8::1 a.example.org")
    assert v4(table, "a.example.org") == []


def test_without_reverse_no_address_has_a_name() -> None:
    assert table_of("10.0.0.1 a.org", reverse=False).names(addr.pack("10.0.0.1")) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [("fe80::1%lo0", "fe80::1"), ("::ffff:10.0.0.9", "10.0.0.9"), ("2001:0DB8:0:0::2", "2001:db8::2")],
)
def test_addresses_in_their_odd_forms(text: str, expected: str) -> None:
    assert parse_address(text) == addr.pack(expected)


def test_no_bytes_make_the_parser_fail() -> None:
    assert table_of("10.0.0.1 \u00e9.org \ufffd\x00.org \\ \\0", "\x0b\x0c\x1c").entries >= 0
