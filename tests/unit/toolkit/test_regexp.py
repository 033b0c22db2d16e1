"""Go's syntax and meaning, by tables of pattern, text and what Go finds or says; no pattern takes for ever (S22)."""

from __future__ import annotations

import re

import pytest

from waypost.toolkit.regexp import compile_regexp

ERRORS = {
    "[a": "missing closing ]: `[a`",
    "x[^": "missing closing ]: `[^`",
    "(a": "missing closing ): `(a`",
    "a)b": "unexpected ): `a)b`",
    "a**": "invalid nested repetition operator: `**`",
    "a*+": "invalid nested repetition operator: `*+`",
    "a{2}{3}?": "invalid nested repetition operator: `{2}{3}?`",
    "*a": "missing argument to repetition operator: `*`",
    "a|+?": "missing argument to repetition operator: `+?`",
    "a{1001}": "invalid repeat count: `{1001}`",
    "a{3,2}": "invalid repeat count: `{3,2}`",
    "a{1,99999999}": "invalid repeat count: `{1,99999999}`",
    "(?=a)": "invalid or unsupported Perl syntax: `(?=`",
    "(?<!a)": "invalid or unsupported Perl syntax: `(?<`",
    "(?i": "invalid or unsupported Perl syntax: `(?i`",
    "(?P<n": "invalid named capture: `(?P<n`",
    "(?P<a b>x)": "invalid named capture: `(?P<a b>`",
    r"(a)\1": r"invalid escape sequence: `\1`",
    r"\Z": r"invalid escape sequence: `\Z`",
    r"[\Q]": r"invalid escape sequence: `\Q`",
    r"\x{110000}": r"invalid escape sequence: `\x`",
    "a\\": "trailing backslash at end of expression: ``",
    "[z-a]": "invalid character class range: `z-a`",
    "[[:foo:]]": "invalid character class range: `[:foo:]`",
    r"\p{Nope": r"invalid character class range: `\p{Nope`",
    r"\p{Greek}": r"invalid character class range (scripts are not supported yet): `\p{Greek}`",
    "(" * 101 + ")" * 101: f"expression nests too deeply: `{'(' * 101 + ')' * 101}`",
}

FOUND = [
    (".* i/o timeout$", "read udp: i/o timeout", "read udp: i/o timeout"),
    ("a$", "a\n", None),  # Go's $ is the very end
    ("(?m)a$", "a\nb", "a"),
    ("(?m)^b", "a\nb", "b"),
    ("^b", "a\nb", None),
    (r"\Aa\z", "a", "a"),
    ("a.b", "a\nb", None),
    ("(?s)a.b", "a\nb", "a\nb"),
    (r"^\w+$", "caf\u00e9", None),
    (r"\d", "\u0663", None),
    (r"\s", "\x0b", None),
    ("[[:space:]]", "\x0b", "\x0b"),
    (r"\bfoo\b", "\u00e9foo", "foo"),
    ("a(?i)b", "aB", "aB"),
    ("a(?i)b", "Ab", None),
    ("(a(?i)b)c", "aBC", None),
    ("(?i)a(?-i)b|C", "c", None),
    ("(?i:a)b", "Ab", "Ab"),
    ("(?i)[^a]", "A", None),
    ("(?U)a+", "aaa", "a"),
    ("(?U)a+?", "aaa", "aaa"),
    ("a+?", "aaa", "a"),
    ("a{,3}", "a{,3}", "a{,3}"),
    ("a{2,}", "aaa", "aaa"),
    ("x{a}", "x{a}", "x{a}"),
    ("[]a]+", "]a", "]a"),
    ("[^]a]", "]ab", "b"),
    ("[a-]+", "-a", "-a"),
    (r"[\d.-]+", "x1.2-3", "1.2-3"),
    ("[[:^alpha:]]", "a1", "1"),
    ("[[a-z&&b]+", "[&", "[&"),
    (r"\pL+", "1\u00e9a", "\u00e9a"),
    (r"\PL", "a1", "1"),
    (r"\p{^Lu}", "Ab", "b"),
    (r"[\p{Nd}x]+", "\u0663x", "\u0663x"),
    (r"\Qa.b\E+", "a.bb", "a.bb"),
    (r"\Q*", "*", "*"),
    (r"\x41\x{42}\103\a", "ABC\a", "ABC\a"),
    (r"[\x00-\x1f]", "a\x07", "\x07"),
    ("^*a", "ba", "a"),
    ("(?P<n>a)(?P<n>b)", "ab", "ab"),
    ("a|ab", "ab", "a"),
    ("", "x", ""),
    (r"[^\x00-\x{10FFFF}]", "x", None),
]


@pytest.mark.parametrize(("text", "expected"), ERRORS.items())
def test_refused_with_gos_text(text: str, expected: str) -> None:
    with pytest.raises(ValueError) as caught:
        compile_regexp(text)
    assert str(caught.value) == f"error parsing regexp: {expected}"


@pytest.mark.parametrize(("text", "subject", "expected"), FOUND)
def test_finds_what_go_finds(text: str, subject: str, expected: str | None) -> None:
    found = compile_regexp(text).search(subject)
    assert (found[0] if found else None) == expected


@pytest.mark.parametrize(("text", "subject", "expected"), FOUND)
def test_a_pattern_left_to_re2_finds_the_same(text: str, subject: str, expected: str | None) -> None:
    pattern = compile_regexp(f"(?:z){{0}}{text}")
    assert not isinstance(pattern, re.Pattern)
    found = pattern.search(subject)
    assert (found[0] if found else None) == expected


@pytest.mark.parametrize(
    "text", ["", "a.b", "a+", "^(a+)b+$", r"^([a-z0-9-]+)\.example\.org\.$", r"(.*)\.example\.org\.", "a{3}", "(a|b)c*"]
)
def test_plain_patterns_stay_with_the_faster_matcher(text: str) -> None:
    assert isinstance(compile_regexp(text), re.Pattern)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text",
    [
        "(a+)+$",
        "(a|a)*$",
        "(a|aa)+$",
        "(?:a?){200}$",
        "a*" * 20 + "$",
        "^" + "a?" * 60 + "a" * 60 + "$",
        "^a*a*a*a*b|c",
        ".*.*.*=.*",
        "a{0,100}a{0,100}a{0,100}$",
        "(?i)(.*a){25}",
    ],
)
def test_no_text_takes_for_ever(text: str) -> None:
    pattern = compile_regexp(text)
    pattern.search("a" * 254 + "!")
    pattern.search("a" * 59 + "!")


def test_what_re2_refuses_is_a_value_error() -> None:
    with pytest.raises(ValueError, match=r"^error parsing regexp: "):
        compile_regexp("((a{100}){100}){100}")


def test_named_groups() -> None:
    found = compile_regexp(r"^(?P<a>\d+)-(?<b>[a-z]+)$").search("12-x")
    assert found is not None
    assert found.groupdict() == {"a": "12", "b": "x"}
    found = compile_regexp(r"^(?P<a>\d+)(-(?<b>[a-z]+))?$").search("12")
    assert found is not None
    assert found.groupdict() == {"a": "12", "b": None}
    assert (found["a"], found.groups()) == ("12", ("12", None, None))


def test_first_of_equal_names_is_the_named_one() -> None:
    found = compile_regexp("(?P<n>a)(?P<n>b)").search("ab")
    assert found is not None
    assert found["n"] == "a"
    assert found.groups() == ("a", "b")
