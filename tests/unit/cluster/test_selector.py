"""Label selectors."""

from __future__ import annotations

import pytest

from waypost.cluster.selector import parse_selector

WEB = {"app": "web", "tier": "front", "size": "10", "empty": "", "example.com/Team": "a_b.c"}

HOLDS = [
    "",
    "  ",
    "app",
    "app=web",
    "app==web",
    " app = web , tier ",
    "app!=db",
    "app=web,tier!=back",
    "missing!=web",
    "!missing",
    "! missing",
    "app in (web)",
    "app in(db,web)",
    "app in ( web , )",
    "empty in (,x)",
    "empty in (x,)",
    "empty in (,)",
    "app notin (db, back)",
    "missing notin (web)",
    "missing notin (,)",
    "empty=",
    "empty=,app",
    "example.com/Team=a_b.c",
    "size>9",
    "size < 11",
    "size>9,size<011",
    "app=web,app=web",
]
FAILS = [
    "App",
    "app=Web",
    "app!=web",
    "!app",
    "missing",
    "missing=",
    "missing=web",
    "app in (db)",
    "app notin (web)",
    "app in (,)",
    "size>10",
    "size<10",
    "app>1",
    "missing<5",
    "app=web,tier=back",
]


@pytest.mark.parametrize("text", HOLDS)
def test_holds(text: str) -> None:
    assert parse_selector(text)(WEB)


@pytest.mark.parametrize("text", FAILS)
def test_fails(text: str) -> None:
    assert not parse_selector(text)(WEB)


def test_no_labels_at_all() -> None:
    assert parse_selector("")(None)
    assert parse_selector("!app")(None)
    assert not parse_selector("app")(None)


def test_word_operators_may_be_values() -> None:
    assert parse_selector("a=in,b in (in, notin)")({"a": "in", "b": "notin"})


PARSE = "unable to parse requirement: "
ERRORS = [
    (",", "found ',', expected: !, identifier, or 'end of string'"),
    ("=web", "found '=', expected: !, identifier, or 'end of string'"),
    ("in (a)", "found 'in', expected: !, identifier, or 'end of string'"),
    ("!", PARSE + "found '', expected: identifier"),
    ("!in", PARSE + "found 'in', expected: identifier"),
    ("!!a", PARSE + "found '!', expected: identifier"),
    ("a,", "found '', expected: identifier after ','"),
    ("a,=", "found '=', expected: identifier after ','"),
    ("a b", PARSE + "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
    ("a)", PARSE + "found ')', expected: in, notin, =, ==, !=, gt, lt"),
    ("!a=b", "found '=', expected: ',' or 'end of string'"),
    ("a=b c", "found 'c', expected: ',' or 'end of string'"),
    ("a=(b)", PARSE + "found '(', expected: identifier"),
    ("a in b", PARSE + "found 'b' expected: '('"),
    ("a in", PARSE + "found '' expected: '('"),
    ("a in (", PARSE + "found '', expected: ',', ')' or identifier"),
    ("a in (=", PARSE + "found '=', expected: ',', ')' or identifier"),
    ("a in (b", PARSE + "found '', expected: ',' or ')'"),
    ("a in (b c)", PARSE + "found 'c', expected: ',' or ')'"),
    ("a in (b,", PARSE + "found '', expected: identifier"),
    ("a in ()", PARSE + "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
    ("a>x", PARSE + "values[0][a]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"),
    ("a>", PARSE + "values[0][a]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer"),
]


@pytest.mark.parametrize(("text", "words"), ERRORS)
def test_errors_are_worded_as_by_the_api(text: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_selector(text)
    assert str(caught.value) == words


@pytest.mark.parametrize("text", ["-a", "a.", "a/b/c", "/a", "A/b", "a/", "a" * 64, "a" * 254 + "/b", "é"])
def test_keys_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match="unable to parse requirement: key: Invalid value"):
        parse_selector(text)


@pytest.mark.parametrize("value", ["-a", "a.", "a/b", "a" * 64, "é"])
@pytest.mark.parametrize("form", ["k={}", "k!={}", "k in (a,{})"])
def test_values_that_are_none(form: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"unable to parse requirement: values\[0\]\[k\]: Invalid value"):
        parse_selector(form.format(value))
