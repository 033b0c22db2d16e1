"""Zone files: what lines may look like, what is refused and where, when reading stops early."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.zones import HEAD, lines, load, write_zone
from waypost.toolkit.zonefile import ZoneFileError, load_zone
from waypost.wire import names

ORIGIN = names.from_text("example.org.")


def added(tmp_path: Path, text: str, head: str = HEAD) -> list[str]:
    """The lines that `text` adds to an otherwise empty zone."""
    base = set(lines(load(tmp_path, "", head=head).records()))
    return [line for line in lines(load(tmp_path, text, head=head).records()) if line not in base]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("www 30 IN A 192.0.2.9", ["www.example.org. 30 A 192.0.2.9"]),
        ("www IN 30 A 192.0.2.9", ["www.example.org. 30 A 192.0.2.9"]),
        ("www A 192.0.2.9", ["www.example.org. 60 A 192.0.2.9"]),
        ("www 1h A 192.0.2.9", ["www.example.org. 3600 A 192.0.2.9"]),
        ("www 5 A 192.0.2.9\n  AAAA ::1", ["www.example.org. 5 A 192.0.2.9", "www.example.org. 5 AAAA ::1"]),
        ("$TTL 9\na A 192.0.2.9\nb 5 A 192.0.2.9\nc A 192.0.2.9", [
            "a.example.org. 9 A 192.0.2.9", "b.example.org. 5 A 192.0.2.9", "c.example.org. 9 A 192.0.2.9"]),
        ("$ORIGIN sub\nwww A 192.0.2.9\n@ MX 1 www", [
            "www.sub.example.org. 60 A 192.0.2.9", "sub.example.org. 60 MX 1 www.sub.example.org."]),
        ("www ( IN ; split\n A\n 192.0.2.9 )", ["www.example.org. 60 A 192.0.2.9"]),
        ("x TYPE65280 \\# 2 beef", ["x.example.org. 60 TYPE65280 \\# 2 beef"]),
        ("has\\046dot A 192.0.2.9", ["has\\.dot.example.org. 60 A 192.0.2.9"]),
        ("WWW A 192.0.2.9", ["www.example.org. 60 A 192.0.2.9"]),
        ("My\\032Printer._ipp._tcp SRV 0 0 631 Host-A", [
            "My\\032Printer._ipp._tcp.example.org. 60 SRV 0 0 631 Host-A.example.org."]),
        ("a 9 A 192.0.2.1\na 7 A 192.0.2.2\na 8 A 192.0.2.1", [
            "a.example.org. 7 A 192.0.2.1", "a.example.org. 7 A 192.0.2.2"]),
        ("www.example.net. A 192.0.2.9", []),
        ("@ SOA ns admin 8 1 1 1 1", []),
        ("$GENERATE 1-3/2 h$ 5 IN A 10.0.0.$", ["h1.example.org. 5 A 10.0.0.1", "h3.example.org. 5 A 10.0.0.3"]),
        ("$GENERATE 10-10 h${-1,3,x} TXT \"a b$$\"", ['h009.example.org. 60 TXT "a b$"']),
    ],
)  # fmt: skip
def test_lines(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert added(tmp_path, text) == expected


def test_soa_without_ttl_takes_its_minimum(tmp_path: Path) -> None:
    zone = load(tmp_path, "@ NS ns", head="@ IN SOA ns admin 1 2 3 4 5\n")
    assert lines(zone.records())[1] == "example.org. 5 NS ns.example.org."


def test_bytes_that_are_not_utf8_in_a_comment(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(HEAD.encode() + b"www A 192.0.2.1 ; caf\xe9\n")
    assert load_zone(str(tmp_path / "db"), ORIGIN) is not None


def test_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"\xef\xbb\xbf" + HEAD.replace("\n", "\r\n").encode())
    assert load_zone(str(tmp_path / "db"), ORIGIN) is not None


def test_include_is_beside_the_file_and_keeps_origin_and_owner_apart(tmp_path: Path) -> None:
    (tmp_path / "part").write_text("$ORIGIN deep\n$TTL 1\nx A 192.0.2.3\n")
    text = "$TTL 4\na A 192.0.2.2\n$INCLUDE part sub\n  AAAA ::2\n"
    assert added(tmp_path, text) == [
        "a.example.org. 4 A 192.0.2.2",
        "a.example.org. 4 AAAA ::2",
        "x.deep.sub.example.org. 1 A 192.0.2.3",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\n\nwww IN A nope", "db:6: bad A record: "),
        ("www IN A (\n192.0.2.1\n", "db:4: "),
        ("www IN FOO x", "db:4: unknown record type 'FOO'"),
        ("www CH A 192.0.2.1", "db:4: class CH, expected IN"),
        ("www 60", "db:4: expected a record type"),
        ("www AXFR x", "db:4: type AXFR cannot stand in a zone"),
        ("www MX 99999 mail", "db:4: bad MX record: "),
        ('www TXT "open', "db:4: "),
        (f"{'a' * 64} A 192.0.2.1", "db:4: "),
        ("\\999 A 192.0.2.1", "db:4: "),
        ("www TXT \udcff", "db:4: bad TXT record: "),
        ("$TTL x", "db:4: "),
        ("$ORIGIN", "db:4: "),
        ("$FOO x", "db:4: unknown directive $FOO"),
        ("$INCLUDE nofile", "db:4: cannot include nofile: open {dir}/nofile: "),
        ("$INCLUDE", "db:4: expected $INCLUDE FILE [ORIGIN]"),
        ("$INCLUDE db", "db:4: $INCLUDE nested more than 7 deep"),
        ("$GENERATE 1-2 h$", "db:4: expected $GENERATE "),
        ("$GENERATE 1-99999999 h$ A 10.0.0.1", "db:4: $GENERATE of 99999999 lines"),
        ("$GENERATE 2-1 h$ A 10.0.0.1", "db:4: $GENERATE of 0 lines"),
        ("$GENERATE 1-2 h${x} A 10.0.0.1", "db:4: expected ${OFFSET[,WIDTH[,BASE]]}, not ${x}"),
        ("$GENERATE 255-256 h$ A 10.0.0.$", "db:4: bad A record: "),
        ("x NSEC3PARAM 1 0 12 aabb", "NSEC3 zone is not supported: x.example.org."),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "db"
    path.write_bytes((HEAD + text).encode("utf-8", "surrogateescape"))
    with pytest.raises(ZoneFileError) as caught:
        load_zone(str(path), ORIGIN)
    assert fault.replace("{dir}", str(tmp_path)) in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("text", ["", "; nothing\n", "www 60 A 192.0.2.1\n", "www 60 SOA ns admin 1 2 3 4 5\n"])
def test_no_soa(tmp_path: Path, text: str) -> None:
    path = write_zone(tmp_path / "db", text, head="")
    with pytest.raises(ZoneFileError, match=r"has no SOA record for origin example\.org\."):
        load_zone(path, ORIGIN)


def test_no_ttl_at_all(tmp_path: Path) -> None:
    with pytest.raises(ZoneFileError, match="db:1: no TTL"):
        load_zone(write_zone(tmp_path / "db", "www A 192.0.2.1\n", head=""), ORIGIN)


def test_missing_file_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_zone(str(tmp_path / "nofile"), ORIGIN)


def test_reading_stops_at_a_known_serial(tmp_path: Path) -> None:
    path = write_zone(tmp_path / "db", "this is broken\n")
    assert load_zone(path, ORIGIN, unless_serial=7) is None
    with pytest.raises(ZoneFileError):
        load_zone(path, ORIGIN, unless_serial=6)


def test_transfer(tmp_path: Path) -> None:
    zone = load(tmp_path, "a.b 60 A 192.0.2.9\n")
    everything = lines(zone.transfer(None))
    assert everything[0] == everything[-1] == lines([zone.soa])[0]
    assert sorted(everything[1:-1]) == [
        "a.b.example.org. 60 A 192.0.2.9",
        "example.org. 60 NS ns.example.org.",
        "ns.example.org. 60 A 192.0.2.1",
    ]
    assert lines(zone.transfer(7)) == [everything[0]]
    assert lines(zone.transfer(6)) == lines(zone.transfer(8)) == everything
