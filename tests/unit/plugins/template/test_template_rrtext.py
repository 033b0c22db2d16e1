import dns.name
import dns.rdata
import pytest
from hypothesis import given
from hypothesis import strategies as st

from waypost.plugins.template.rrtext import RecordReader
from waypost.wire import names
from waypost.wire.record import Record


def shown(record: Record) -> str:
    owner, _ = dns.name.from_wire(record.owner, 0)
    rdata = dns.rdata.from_wire(record.rclass, record.rtype, record.rdata, 0, len(record.rdata))
    return f"{owner} {record.ttl} {record.rclass} {record.rtype} {rdata}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.org. 60 IN A 192.0.2.1", "a.org. 60 1 1 192.0.2.1"),
        ("a.org IN 60 A 192.0.2.1", "a.org. 60 1 1 192.0.2.1"),
        ("a.org a 192.0.2.1", "a.org. 3600 1 1 192.0.2.1"),
        ("  a.org\t1h\tin\tA\t192.0.2.1\n", "a.org. 3600 1 1 192.0.2.1"),
        ("@ 60 IN NS ns", ". 60 1 2 ns."),
        ("a\\.b.org. 60 IN A 192.0.2.1", "a\\.b.org. 60 1 1 192.0.2.1"),
        ("a.org 60 CH TXT x", 'a.org. 60 3 16 "x"'),
        ('a.org 60 IN TXT "a ; b" c ; comment', 'a.org. 60 1 16 "a ; b" "c"'),
        ("a.org 60 IN SOA ns.a.org h.a.org (1 60 60 60 60)", "a.org. 60 1 6 ns.a.org. h.a.org. 1 60 60 60 60"),
        ("a.org 60 IN SOA ns.a.org h.a.org (\n1\n60 60 60 60 )", "a.org. 60 1 6 ns.a.org. h.a.org. 1 60 60 60 60"),
        ("a.org 60 IN SRV 0 1 80 Www.a.org.", "a.org. 60 1 33 0 1 80 Www.a.org."),
        ("a.org 60 IN TYPE65280 \\# 2 0a0b", "a.org. 60 1 65280 \\# 2 0a0b"),
        ("a.org 60 IN A 192.0.2.1\nb.org 60 IN A 192.0.2.2", "a.org. 60 1 1 192.0.2.1"),
    ],
)
def test_records(text: str, expected: str) -> None:
    record = RecordReader().read(text)
    assert record is not None
    assert shown(record) == expected


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_nothing_is_no_record(text: str) -> None:
    assert RecordReader().read(text) is None


@pytest.mark.parametrize(
    "text",
    ["a.org", "a.org 60", "a.org 60 IN", "this is not a record", "a.org 60 IN A 192.0.2.256", "a.org 60 IN A",
     "a.org 60 IN A 192.0.2.1 192.0.2.2", "a..org 60 IN A 192.0.2.1", f"{'a' * 64}.org 60 IN A 192.0.2.1",
     "a.org 99999999999 IN A 192.0.2.1", "a.org 60 IN SOA a b (1 2 3 4", "; only a comment", '"a" 60 IN A 192.0.2.1',
     "a.org 60 60 A 192.0.2.1", "a.org 60 IN AAAA ::g", "a.org 60 IN MX mail", "<no value> 60 IN A 192.0.2.1"],
)  # fmt: skip
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        RecordReader().read(text)


def test_a_body_is_parsed_once_for_all_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = RecordReader()
    first = reader.read("a.org 60 IN A 192.0.2.1")
    monkeypatch.setattr(dns.rdata, "from_text", None)
    second = reader.read("b.org 60 IN A 192.0.2.1")
    assert first is not None
    assert second == first._replace(owner=names.from_text("b.org"))


def test_what_is_remembered_is_bounded() -> None:
    reader = RecordReader()
    for ttl in range(3000):
        reader.read(f"a.org {ttl} IN A 192.0.2.1")
    assert len(reader._bodies) <= 1024


@given(st.text(max_size=60))
def test_any_text_is_a_record_or_refused(text: str) -> None:
    for whole in (text, f"a.org 60 IN TXT {text}", f"a.org 60 IN {text}", f"{text} 60 IN A 192.0.2.1"):
        try:
            RecordReader().read(whole)
        except ValueError:
            continue
