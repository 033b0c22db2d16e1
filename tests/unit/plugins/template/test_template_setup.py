import pytest

from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.template.setup import parse
from waypost.wire import consts


def test_each_occurrence_is_a_rule_of_its_own() -> None:
    first, second = parse(
        make_directive(
            """template IN A a.org b.org {
            match ^a ^b
            match ^c
            answer "{{ .Name }} 60 IN A 192.0.2.1" "{{ .Name }} 61 IN A 192.0.2.2"
            authority "a.org 60 IN NS ns.a.org."
            additional "ns.a.org 60 IN A 192.0.2.3"
            rcode NXDOMAIN
            ederror 21 "Not here"
            fallthrough
            upstream 10.0.0.1
        }
        template ANY ANY"""
        )
    )
    assert (first.qclass, first.qtype, first.zones) == (1, 1, ("a.org", "b.org"))
    assert [pattern.text for pattern in first.patterns] == ["^a", "^b", "^c"]
    assert [len(section) for section in (first.answer, first.authority, first.additional)] == [2, 1, 1]
    assert first.rcode == consts.NXDOMAIN
    assert first.extended_error is not None
    assert first.extended_error.data == b"\x00\x15Not here"
    assert first.fall.zones == {b"\x00"}
    assert (second.qclass, second.qtype, second.zones) == (255, 255, ())
    assert [pattern.text for pattern in second.patterns] == [".*"]
    assert not second.fall.zones


def test_equal_texts_make_equal_rules() -> None:
    text = 'template IN A {\n match ^a\n answer "{{ .Name }} 60 IN A 192.0.2.1"\n}'
    assert parse(make_directive(text)) == parse(make_directive(text))


@pytest.mark.parametrize(
    ("text", "line", "error"),
    [
        ("template", 2, "Wrong argument count or unexpected line ending after 'template'"),
        ("template IN", 2, "Wrong argument count or unexpected line ending after 'IN'"),
        ("template in A", 2, "invalid query class in"),
        ("template IN FOO", 2, "invalid RR class FOO"),
        ("template IN A {\n match\n}", 3, "Wrong argument count or unexpected line ending after 'match'"),
        ("template IN A {\n answer\n}", 3, "Wrong argument count or unexpected line ending after 'answer'"),
        ("template IN A {\n foo\n}", 3, "Wrong argument count or unexpected line ending after 'foo'"),
        ("template IN A {\n rcode 3\n}", 3, "unknown rcode 3"),
        ("template IN A {\n rcode\n}", 3, "Wrong argument count or unexpected line ending after 'rcode'"),
        ("template IN A {\n rcode NXDOMAIN x\n}", 3, "Wrong argument count or unexpected line ending after 'x'"),
        ("template IN A {\n ederror\n}", 3, "Wrong argument count or unexpected line ending after 'ederror'"),
        ("template IN A {\n ederror 1 a b\n}", 3, "Wrong argument count or unexpected line ending after 'b'"),
        ("template IN A {\n ederror x\n}", 3,
         'error parsing extended DNS error code x, strconv.ParseUint: parsing "x": invalid syntax'),
        ('template IN A {\n match "(?!a)b"\n}', 3,
         "could not parse regex: (?!a)b, error parsing regexp: invalid or unsupported Perl syntax: `(?!`"),
        (f"template IN A {{\n match {'a' * 10001}\n}}", 3, "regex pattern too long: 10001 > 10000"),
        ('template IN A {\n answer "{{ .Name 60 IN A 192.0.2.1"\n}', 3,
         'could not compile template: {{ .Name 60 IN A 192.0.2.1, template: answer:1: function "IN" not defined'),
        ('template IN A {\n authority "{{ end }}"\n}', 3,
         "could not compile template: {{ end }}, template: authority:1: unexpected {{end}}"),
        ("template IN A {\n var x 1\n}", 3, "'var' is not supported yet"),
        ("template IN A {\n expr true\n}", 3, "'expr' is not supported yet"),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, line: int, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == f"Corefile:{line} - Error during parsing: {error}"
