"""Lines as servers, container runtimes and collectors write them, and lines that are none."""

from __future__ import annotations

import json

import pytest

from support.querylog import line, read, reader
from waypost.querylog.record import NO_REPLY, Query

QUERY = Query("example.org.", "A", "NOERROR", "10.244.1.7", 0.0002, None, "40000/7")
MAY_DAY = 1_714_560_000.0
STAMP = "2024-05-01T10:40:00.25Z"
PLAIN = line("example.org.")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (PLAIN, None),
        (PLAIN + "\r", None),
        (PLAIN + ' "0"', None),
        (PLAIN.removeprefix("[INFO] "), None),
        (f"{STAMP} {PLAIN}", MAY_DAY + 0.25),
        (f"{STAMP} {PLAIN.removeprefix('[INFO] ')}", MAY_DAY + 0.25),
        (f"2024-05-01T12:40:00.250000000+02:00 stdout F {PLAIN}", MAY_DAY + 0.25),
        (f"2024-05-01T12:40:00.25+0200 stdout F {PLAIN.removeprefix('[INFO] ')}", MAY_DAY + 0.25),
        (f"[pod/coredns-5d78c9869d-x/coredns] {STAMP} {PLAIN}", MAY_DAY + 0.25),
        (f"[pod/coredns-5d78c9869d-x/coredns] {STAMP} {PLAIN.removeprefix('[INFO] ')}", MAY_DAY + 0.25),
        (f"[pod/coredns-5d78c9869d-x/coredns] {PLAIN}", None),
        (f"coredns-x coredns {PLAIN}", None),
        (f"2024/05/01 10:40:00 {PLAIN}", MAY_DAY),
        (f"I0501 10:40:00.250000       1 log.go:45] {PLAIN}", MAY_DAY + 0.25),
        (f"I0501 10:40:00.250000       1 log.go:45] {PLAIN.removeprefix('[INFO] ')}", MAY_DAY + 0.25),
        (json.dumps({"log": PLAIN + "\n", "stream": "stdout", "time": STAMP}), MAY_DAY + 0.25),
        (json.dumps({"message": f"{STAMP} stdout F {PLAIN}", "host": "a"}), MAY_DAY + 0.25),
        (json.dumps({"msg": json.dumps({"log": PLAIN, "time": STAMP})}), MAY_DAY + 0.25),
        (f"2024-13-01T10:40:00Z {PLAIN}", None),
        (f"0001-01-01T00:00:00+23:59 {PLAIN}", None),
    ],
)
def test_what_stands_in_front(text: str, time: float | None) -> None:
    assert read(text) == QUERY._replace(time=time)


def test_fields() -> None:
    text = '[INFO] [2001:db8::1]:53 - 65535 "TYPE65534 CLASS7 Example.org. tcp 28 true 65535" - - 0 1m2.5s'
    assert read(text) == Query("example.org.", "TYPE65534", NO_REPLY, "2001:db8::1", 62.5, None, "53/65535")


def test_a_reply_without_flags() -> None:
    assert read('[INFO] 10.0.0.1:5 - 6 "A IN a. udp 28 false 512" SERVFAIL  0 0.1s') is not None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        (".", "."),
        (r"a\.b.example.org.", r"a\046b.example.org."),
        (r"a\\.b.example.org.", r"a\\.b.example.org."),
        (r"\"quoted\".example.org.", r"\"quoted\".example.org."),
        (r"\255\000a.org.", r"\255\000a.org."),
        (r"with\ blank.example.org.", r"with\ blank.example.org."),
        ("with blank.example.org.", "with blank.example.org."),
        (r"a\"\ noerror\ qr\ 1\ 0.1s.example.org.", r"a\"\ noerror\ qr\ 1\ 0.1s.example.org."),
    ],
)
def test_names(name: str, meant: str) -> None:
    found = read(line(name))
    assert found is not None
    assert (found.name, found.rcode) == (meant, "NOERROR")


def test_two_writers_in_one_line() -> None:
    assert read(PLAIN[:40] + PLAIN) == QUERY


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("", "other"),
        ("CoreDNS-1.11.1", "other"),
        ("[INFO] plugin/reload: Running configuration SHA512 = abc", "INFO"),
        ("[ERROR] plugin/errors: 2 example.org. A: read udp 10.0.0.1:3->10.0.0.2:53: i/o timeout", "ERROR"),
        (f"{STAMP} stdout F [WARNING] No files matching import glob pattern: *", "WARNING"),
        (PLAIN[:-12], "INFO"),
        (PLAIN[:60], "INFO"),
        (PLAIN[20:], "other"),
        (PLAIN.replace("40000", "port"), "INFO"),
        (PLAIN.replace("example.org.", "a\x1b[31mb."), "INFO"),
        (PLAIN.replace("example.org.", "a\udcffb."), "INFO"),
        (PLAIN.replace("example.org.", ""), "INFO"),
        (PLAIN.replace('"', ""), "INFO"),
        (PLAIN + " and more", "INFO"),
        ("\x00" * 100, "other"),
        ("[INFO] " * 50_000, "INFO"),
        ("[INFO] " + "1" * 300_000, "INFO"),
        ("[INFO] 1.1.1.1:1 - 1 " + '"A IN ' + "\\a" * 100_000, "INFO"),
        ("{" * 100_000, "other"),
        ('{"log": ' * 2_000 + '"x"' + "}" * 2_000, "other"),
        ("[]", "other"),
        ('"text"', "other"),
    ],
)
def test_lines_that_are_no_queries(text: str, level: str) -> None:
    each = reader()
    assert each.read(text) is None
    assert each.passed == {level: 1}


@pytest.mark.parametrize(
    ("value", "query"),
    [
        (
            {"name": "Example.org.", "type": "aaaa", "rcode": "NXDOMAIN", "remote": "10.0.0.1", "port": 53, ">id": 9,
             "duration": "0.002s", "time": STAMP},
            Query("example.org.", "AAAA", "NXDOMAIN", "10.0.0.1", 0.002, MAY_DAY + 0.25, "53/9"),
        ),
        (
            {"qname": "example.org", "qtype": 28, "response_code": 3, "client_ip": "10.0.0.1:53", "id": "9",
             "duration_ms": 2, "ts": MAY_DAY * 1000},
            Query("example.org.", "AAAA", "NXDOMAIN", "10.0.0.1", 0.002, MAY_DAY, "53/9"),
        ),
        (
            {"query_name": "bücher.example", "query_type": "TYPE65", "client": "[2001:DB8::1]:5353"},
            Query("b\\195\\188cher.example.", "TYPE65", "", "2001:db8::1"),
        ),
        ({"name": "a.", "type": "A", "client": "2001:db8::1"}, Query("a.", "A", client="2001:db8::1")),
        ({"name": "a\\.", "type": "A", "client": "web-0"}, Query("a\\046.", "A")),
        ({"name": "a\n\"b", "type": "A", "time": True, "duration": -1, "id": 70000}, Query("a\\010\\034b.", "A")),
    ],
)  # fmt: skip
def test_json(value: dict[str, object], query: Query) -> None:
    found = read(json.dumps(value))
    assert found is not None
    assert found._replace(seconds=None) == query._replace(seconds=None)
    assert found.seconds == pytest.approx(query.seconds)


def test_json_of_a_custom_format_behind_the_level() -> None:
    text = f'{STAMP} stdout F [INFO] {{"name":"example.org.","type":"A","remote":"10.0.0.1"}}'
    assert read(text) == Query("example.org.", "A", client="10.0.0.1", time=MAY_DAY + 0.25)


@pytest.mark.parametrize(
    "value",
    [
        {"name": "worker", "type": "log", "status": 200},
        {"name": "a.", "rcode": "NOERROR"},
        {"name": 1, "type": "A"},
        {"name": "", "type": "A"},
        {"name": "a" * 2_000, "type": "A"},
        {"type": "A"},
        {"name": "a.", "type": 10**400},
        {"name": "a.", "type": True},
        [1],
    ],
)
def test_json_that_is_no_query(value: object) -> None:
    assert read(json.dumps(value)) is None


def test_numbers_beyond_all_bounds() -> None:
    value = {"name": "a.", "type": "A", "time": 10**400, "duration": 10**400, "id": 10**400, "port": 10**5000}
    found = read(json.dumps(value | {"port": 1}))
    assert found == Query("a.", "A")
