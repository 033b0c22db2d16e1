"""YAML text to JSON-like values."""

from __future__ import annotations

import pytest

from waypost.manifests.yaml_text import MAX_BORROWED, MAX_DEPTH, YamlError, load

VALUES = [
    ("", None),
    ("# nothing", None),
    ("a: 1", {"a": 1}),
    ("a: -0x1F", {"a": -31}),
    ("a: 010", {"a": 8}),
    ("a: 0o10", {"a": 8}),
    ("a: 0b11", {"a": 3}),
    ("a: 1_000", {"a": 1000}),
    ("a: 0x_", {"a": "0x_"}),
    ("a: +5", {"a": 5}),
    ("a: 1.5", {"a": 1.5}),
    ("a: 1e3", {"a": 1000.0}),
    ("a: '5'", {"a": "5"}),
    ("a: !!str 5", {"a": "5"}),
    ("a: ! 5", {"a": "5"}),
    ("a: !!int 5", {"a": 5}),
    ("a: yes\nb: Off\nc: TRUE", {"a": True, "b": False, "c": True}),
    ("a: None\nb: y", {"a": "None", "b": "y"}),
    ("a: =", {"a": "="}),
    ("a: 12:30:45", {"a": "12:30:45"}),
    ("a: 2026-01-02T03:04:05Z", {"a": "2026-01-02T03:04:05Z"}),
    ("a: 10.96.0.10", {"a": "10.96.0.10"}),
    ("a: " + "9" * 5000, {"a": "9" * 5000}),
    ("a: null\nb: ~\nc:\nd: ''", {"d": ""}),
    ("- null\n- 1", [None, 1]),
    ("1: a\ntrue: b", {"1": "a", "true": "b"}),
    ('{"a": [1, {"b": "c"}]}', {"a": [1, {"b": "c"}]}),
    ("a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
    ("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}", {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}}),
    ("x: {b: null, <<: {a: 1, b: 2}}", {"x": {"a": 1}}),
    ("x: {<<: [{a: 1}, {a: 2, b: 2}]}", {"x": {"a": 1, "b": 2}}),
    ("x: {'<<': 1}", {"x": {"<<": 1}}),
    ("--- text", "text"),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value(text: str, value: object) -> None:
    found = load(text)
    assert found == value
    assert type(found) is type(value)


ERRORS = [
    ("a: 1\nb: c: d", 2, "mapping values are not allowed"),
    ("a: 1\na: 2", 2, "key 'a' is given twice"),
    ("? [a]\n: b", 1, "a key must be text"),
    ("x: &x [1]\n*x : 1", 2, "a key must be text"),
    ("a: !Ref b", 1, "tag '!Ref' has no meaning"),
    ("a: !Map {}", 1, "tag '!Map' has no meaning"),
    ("a: *x", 1, "no anchor 'x'"),
    ("a: &x [*x]", 1, "no anchor 'x'"),
    ("a:\n  <<: 1", 2, "<< takes an object"),
    ("a: \x00", 1, "not allowed"),
    ("a: 1\nb: \ud800", 1, "not Unicode text"),
    ("a: [1\n\n", 1, "did not find"),
    ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), 1, "nested more than"),
]


@pytest.mark.parametrize(("text", "line", "words"), ERRORS)
def test_error_names_the_line(text: str, line: int, words: str) -> None:
    with pytest.raises(YamlError, match=words) as caught:
        load(text)
    assert caught.value.line == line


def test_deep_nesting_is_refused_at_once() -> None:
    with pytest.raises(YamlError):
        load("[" * 1_000_000)


def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [" + "x, " * 9 + "x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(YamlError, match=f"more than {MAX_BORROWED} values"):
        load("\n".join(lines))


def test_works_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    from waypost.manifests import yaml_text

    monkeypatch.setattr(yaml_text, "LOADER", yaml.SafeLoader)
    assert load("a: [1, {b: c}]\nd: &x 2\ne: *x") == {"a": [1, {"b": "c"}], "d": 2, "e": 2}
    with pytest.raises(YamlError, match="line 2"):
        load("a: 1\nb: c: d")
    with pytest.raises(YamlError, match="line 2: special characters are not allowed"):
        load("a: 1\nb: \x00")
