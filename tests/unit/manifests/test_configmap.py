"""Corefiles in ConfigMaps, and the places of their lines in the YAML file."""

from __future__ import annotations

import json

import pytest

from waypost.manifests.configmap import ConfigMapError, corefiles

YAML = """\
apiVersion: v1
data:
  Corefile: |
    .:53 {
        errors
    }
  other: x
kind: ConfigMap
"""


def test_a_block_text_has_exact_places() -> None:
    (found,) = corefiles(YAML)
    assert found.text == ".:53 {\n    errors\n}\n"
    assert found.exact
    assert found.place(2, 5) == (5, 9)
    assert found.place(2, 0) == (5, 0)
    assert found.data == {"Corefile": found.text, "other": "x"}


@pytest.mark.parametrize(
    ("header", "body", "place"),
    [
        ("|-", "    a {\n    }\n", (4, 5)),
        ("| # a comment", "\n    a {\n    }\n", (4, 5)),
        ("|2", "    a {\n    }\n", (4, 5)),
        ("|+", "    a {\r\n    }\r\n", (4, 5)),
        (">", "    a {\n    }\n", (3, 3)),
        ('"a {\\n}\\n"', "", (3, 3)),
        ("'a'", "", (3, 3)),
    ],
)
def test_other_spellings(header: str, body: str, place: tuple[int, int]) -> None:
    (found,) = corefiles(f"kind: ConfigMap\ndata:\n  Corefile: {header}\n{body}")
    assert found.place(1, 1) == place


def test_lists_documents_and_json() -> None:
    value = {"kind": "ConfigMap", "data": {"Corefile": "a {\n}\n"}}
    listed = {"kind": "List", "items": [value, {"kind": "Secret"}, {"kind": "ConfigMapList", "items": [value]}]}
    assert len(corefiles(json.dumps(listed, indent=1))) == 2
    assert len(corefiles(f"{YAML}---\n{YAML}---\nkind: Service\n")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "", "a", "[]", "kind: ConfigMap", "kind: ConfigMap\ndata:", "kind: ConfigMap\ndata: []",
        "kind: ConfigMap\ndata: {Corefile: [a]}", "kind: [ConfigMap]", "? [a]\n: b\n",
        "kind: Secret\ndata: {Corefile: a}", "items: &a [*a]",
    ],
)  # fmt: skip
def test_files_without_one(text: str) -> None:
    assert corefiles(text) == []


@pytest.mark.parametrize(
    ("text", "line"), [("a: {{ b }}\nc: [", 2), ("a: b: c", 1), ("a: \0", 1), ("{{ .Values }}: x\n- y", 2), ("*a", 1)]
)
def test_what_is_no_yaml(text: str, line: int) -> None:
    with pytest.raises(ConfigMapError) as caught:
        corefiles(text)
    assert caught.value.line == line


def test_nesting_and_aliases_cost_no_more_than_the_text() -> None:
    with pytest.raises(ConfigMapError):
        corefiles("[" * 100_000)
    bomb = "a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{b}, *{b}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True))
    assert corefiles(bomb + "items: *i\n") == []
