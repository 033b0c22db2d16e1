"""Formatting keeps what a Corefile says, and what is formatted stays as it is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from support.corefiles import labels, parse_corefile
from waypost.corefile.errors import CorefileError
from waypost.corefile.format import format_corefile
from waypost.corefile.model import Token
from waypost.plugins.order import ORDER

FILES = {
    "/conf/zones/c.conf": "c.org {\n  import common\n}\n",
    "/conf/hosts.inc": "bind 127.0.0.1\n",
    "/conf/labels": "x.org, y.org",
}
ENV = {"ZONE": "z.org", "COMMA": "z.org,"}
WORDS = [
    *(
        "log",
        "whoami",
        "cache",
        "errors",
        "a.org",
        "b.org:53",
        "c,",
        ".",
        "10",
        '"x y"',
        '"plain"',
        '""',
        '"a\nb"',
        '"\\""',
    ),
    *(
        "{$ZONE}",
        "{$COMMA}",
        "{%UNSET%}",
        "a#b",
        "import",
        "(s)",
        "(t)",
        "s",
        "zones/*.conf",
        "hosts.inc",
        "labels",
        '"{"',
    ),
]
LAYOUT = [
    " ",
    "\t",
    "\n",
    "\n\n\n",
    "\r\n",
    " {\n",
    "\n{\n",
    "{",
    "\n}\n",
    "}\n",
    "} ",
    " # comment\n",
    "\n# {\n",
    "#",
    ",",
]
LINES = [
    "log", "log . \"{type} {name}\"", "cache 30 {", "success 10", "}", "# about it", "", "a.org, b.org {", "c.org", "{",
    "errors # tail", "import s", "import zones/*.conf", "(s) {", ". { errors", "whoami", "hosts { 10.0.0.1 x",
    "import labels", "errors { }", "a.org,", "{$ZONE}", "(u) { log }", "import hosts.inc", "} d.org {",
]  # fmt: skip

texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from([*WORDS, *LAYOUT])).map("".join),
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(LAYOUT))).map(
        lambda pairs: "".join(map("".join, pairs))
    ),
    st.lists(st.tuples(st.sampled_from(["", "  ", "\t"]), st.sampled_from(LINES))).map(
        lambda pairs: "\n".join(map("".join, pairs))
    ),
)


def outline(tokens: tuple[Token, ...]) -> list[tuple[str, bool]]:
    """Each word, and whether it stands on the line of the one before."""
    return [(tokens[0].text, False), *((token.text, token.continues(before)) for before, token in pairwise(tokens))]


def meaning(text: str) -> object:
    """What a Corefile says, or that it is none; without the places."""
    try:
        blocks = parse_corefile(text, FILES, ENV).blocks
    except CorefileError:
        return None
    return [(labels(block), [(each.name, outline(each.tokens)) for each in block.directives]) for block in blocks]


def sorted_meaning(text: str) -> object:
    """The same, whatever the order of directives."""
    said = meaning(text)
    return said and [(names, sorted(directives)) for names, directives in said]  # type: ignore[union-attr,attr-defined]


def formatted(text: str, order: tuple[str, ...] = ()) -> str | None:
    try:
        return format_corefile(text, "Corefile", order)
    except CorefileError as exc:
        place = exc.line, exc.column
    assert min(place) > 0
    return None


@given(texts)
def test_formatting_keeps_the_meaning(text: str) -> None:
    once = formatted(text)
    if once is not None:
        assert meaning(once) == meaning(text)
        assert formatted(once) == once


@given(texts)
def test_sorting_keeps_all_but_the_order(text: str) -> None:
    once = formatted(text, ORDER)
    if once is not None:
        assert sorted_meaning(once) == sorted_meaning(text)
        assert formatted(once, ORDER) == once
        assert formatted(once) == once
