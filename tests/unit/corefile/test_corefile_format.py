"""The canonical form of a Corefile."""

from __future__ import annotations

import pytest

from waypost.corefile.errors import CorefileError
from waypost.corefile.format import format_corefile, unclosed_brace
from waypost.plugins.order import ORDER


def lines(*rows: str) -> str:
    return "".join(f"{row}\n" for row in rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("\n\n# a\n\n\n# b", lines("# a", "", "# b")),
        (".:53   {\n errors\n\tlog  .\n}", lines(".:53 {", "    errors", "    log .", "}")),
        (". {\n cache {\nprefetch  1\n }\n}", lines(". {", "    cache {", "        prefetch 1", "    }", "}")),
        ("a {\n}\nb {\n}\n", lines("a {", "}", "", "b {", "}")),
        ("a {\n}\n\n\n\nb {\n}\n", lines("a {", "}", "", "b {", "}")),
        ("a,\nb\n{\n}", lines("a,", "b {", "}")),
        ("a { errors\n}", lines("a {", "    errors", "}")),
        ("a { }", lines("a {", "}")),
        ("a {\n errors { }\n}", lines("a {", "    errors { }", "}")),
        ("a {\n} b { log\n}", lines("a {", "}", "", "b {", "    log", "}")),
        ("a {\n\n errors\n\n\n log\n\n}", lines("a {", "    errors", "", "    log", "}")),
        ("(s) { errors\n log }", lines("(s) {", "    errors", "    log", "}")),
        ("a\nerrors\nlog", lines("a", "errors", "log")),
        ('log "plain" "not plain" "" "a\\"b" "x#y"', lines('log plain "not plain" "" "a\\"b" "x#y"')),
        ('a {\n log "two\n lines"   x\n}', lines("a {", '    log "two', ' lines" x', "}")),
        ("import  x\na\n{\n}", lines("import x", "a", "{", "}")),
        ("a {\r\n\terrors\r\n}\r\n", lines("a {", "    errors", "}")),
        ("\ufeffa {\n}", lines("a {", "}")),
        ("{$A} {\n log   {%B%}\n}", lines("{$A} {", "    log {%B%}", "}")),
        ("a {\n chaos a#b  c\n}", lines("a {", "    chaos a#b c", "}")),
        # A brace on a line of its own behind a directive opens no block of it: it must stay there.
        ("a {\n log .\n {\n class x\n }\n}", lines("a {", "    log .", "    {", "        class x", "    }", "}")),
    ],
)
def test_layout(text: str, expected: str) -> None:
    assert format_corefile(text, "Corefile") == expected


def test_comments_stay_where_they_are() -> None:
    text = "# top\na{#glued\n} # not closed\n"
    with pytest.raises(CorefileError):
        format_corefile(text, "Corefile")
    text = """\
# of the file
a.org   # behind the label
{  # behind the brace
# of errors
      errors# glued
   # of cache

   cache {# in the way
   # inside
   }   # behind
# last
}   # end
   # of b
b.org {
}
"""
    expected = """\
# of the file
a.org # behind the label
{ # behind the brace
    # of errors
    errors# glued
    # of cache

    cache {# in the way
        # inside
    } # behind
    # last
} # end

# of b
b.org {
}
"""
    assert format_corefile(text.replace("{# in", "{ # in"), "Corefile") == expected.replace("{# in", "{ # in")


@pytest.mark.parametrize(
    ("text", "place", "error"),
    [
        ("a {\n  hosts {\n", (2, 9), "the brace that opens here is never closed"),
        ("a {\n}\n }\n", (3, 2), "this brace closes nothing"),
        ("a\nerrors\n}\n", (3, 1), "this brace closes nothing"),
        ('a {\n log "x\n}\n', (2, 6), "the quote that opens here is never closed"),
    ],
)
def test_what_has_no_partner(text: str, place: tuple[int, int], error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        format_corefile(text, "Corefile")
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.text == error


def test_sorted() -> None:
    text = """\
a.org {
    whoami
    # why we log
    log a

    cache {
        prefetch 1
    }
    log b
    errors # behind
    # at the end
}
"""
    expected = """\
a.org {
    errors # behind
    # why we log
    log a
    log b
    cache {
        prefetch 1
    }
    whoami
    # at the end
}
"""
    assert format_corefile(text, "Corefile", ORDER) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("whoami; errors", "errors; whoami"),
        ("whoami; import x; errors", "whoami; import x; errors"),
        ("whoami; errors; import x; log; bind ::1", "errors; whoami; import x; bind ::1; log"),
        ("whoami; unheard; errors", "whoami; unheard; errors"),
        ("whoami; {$ALSO}; errors", "whoami; {$ALSO}; errors"),
    ],
)
def test_nothing_passes_what_is_unknown(body: str, expected: str) -> None:
    def block(text: str) -> str:
        return lines("a {", *(f"    {row}" for row in text.split("; ")), "}")

    assert format_corefile(block(body), "Corefile", ORDER) == block(expected)


def test_snippets_are_not_sorted() -> None:
    text = lines("(s) {", "    whoami", "    errors", "}")
    assert format_corefile(text, "Corefile", ORDER) == text


@pytest.mark.parametrize(
    ("text", "line"), [("a {\n}", 0), ("a {\n b {\n}", 1), ("a {\n b {\n", 2), ('a { "', 0), ("}", 0)]
)
def test_the_brace_that_is_never_closed(text: str, line: int) -> None:
    assert unclosed_brace(text) == line
