"""Any text is a Corefile or a CorefileError, within bounded work; layout does not change what a Corefile says."""

import re

from hypothesis import given
from hypothesis import strategies as st

from support.corefiles import labels, parse_corefile
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile, Token
from waypost.corefile.values import format_duration, parse_duration
from waypost.corefile.zones import parse_label, zones_of_argument

VALID = """\
# the names that a cluster asks for
(common) {
    errors
    log . "{type} {name}" {
        class denial error
    }
}
import zones/*.conf

a.org:53, tls://b.org
{
    import common
    cache 30 {$ZONE} {
        success 100 "" \\"
        denial 10
    }
    forward . 10.0.0.1 10.0.0.2 {
    }
}
10.0.0.0/25 . {
    hosts { # inline
        10.0.0.1 x.org "y.org"
        import hosts.inc
    }
    whoami
}
"""
FILES = {
    "/conf/zones/c.conf": "c.org {\n  import common\n  import ../hosts.inc\n}\n",
    "/conf/hosts.inc": "bind 127.0.0.1\n",
    "/conf/self": "import self",
    "/conf/brace": "{",
}
ENV = {"ZONE": "z.org", "LOOP": "{$LOOP} {$LOOP}", "BRACE": "}"}
PIECES = [
    *("{", "}", '"', "\\", "#", ",", "\n", "\r\n", " ", "\t"),
    *("(s)", "import", "s", "self", "brace", "*", "/conf/zones"),
    *("{$ZONE}", "{$LOOP}", "{$BRACE}", "{%ZONE%}", "log", "whoami", "cache", ".", "a.org:53", "::/0", "tls://", "x:"),
]


def examine(text: str) -> Corefile | CorefileError:
    """Parse and read all of `text`; only a CorefileError may come of it."""
    try:
        corefile = parse_corefile(text, FILES, ENV)
        for block in corefile.blocks:
            for label in block.labels:
                parse_label(label.text, "53")
            for directive in block.directives:
                cursor = Cursor(directive)
                for args in cursor.occurrences():
                    for name, values in cursor.options():
                        for word in (name, *args, *values):
                            zones_of_argument(word)
    except CorefileError as error:
        return error
    return corefile


@given(st.text())
def test_any_text(text: str) -> None:
    """S22"""
    examine(text)


@given(st.lists(st.sampled_from(PIECES)))
def test_any_sequence_of_pieces(pieces: list[str]) -> None:
    examine("".join(pieces))
    examine(" ".join(pieces))


@given(st.integers(0, len(VALID)), st.integers(0, len(VALID)), st.sampled_from(PIECES))
def test_any_change_of_a_valid_file(start: int, end: int, piece: str) -> None:
    examine(VALID[:start] + piece + VALID[end:])


def test_the_valid_file_is_valid() -> None:
    assert isinstance(examine(VALID), Corefile)


def test_every_truncation_is_valid_or_names_a_line() -> None:
    """B125: a brace without end was an endless loop."""
    errors = 0
    for size in range(len(VALID)):
        outcome = examine(VALID[:size])
        if isinstance(outcome, CorefileError):
            errors += 1
            located = str(outcome).startswith(f"{outcome.file}:{outcome.line} - ") and outcome.line > 0
            assert located or str(outcome).startswith("error inspecting server blocks: ")
    assert errors > len(VALID) / 2


def outline(tokens: tuple[Token, ...]) -> list[tuple[str, bool]]:
    """For each token its text and whether it continues the line of the one before."""
    return [(token.text, token.continues(before)) for before, token in zip(tokens[:1] + tokens, tokens, strict=False)]


def meaning(text: str) -> object:
    """All of a Corefile but its line numbers."""
    return [
        (labels(block), [(directive.name, outline(directive.tokens)) for directive in block.directives])
        for block in parse_corefile(text, FILES, ENV).blocks
    ]


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """VALID with another layout of the same lines and words."""
    lines = []
    for line in VALID.splitlines():
        lines.extend(draw(st.lists(st.sampled_from(["", "  ", "\t", "# comment", "\r", '# "}']), max_size=2)))
        indent = draw(st.sampled_from(["", " ", "\t\t", "\u00a0"]))
        blank = draw(st.sampled_from([" ", "  ", "\t", " \r"]))
        tail = draw(st.sampled_from(["", " ", "\t# tail", "\r"]))
        quoted = '"{' in line or "#" in line
        lines.append(indent + (line.strip() if quoted else re.sub(" ", blank, line.strip())) + tail)
    newline = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + newline.join(lines) + draw(st.sampled_from(["", newline]))


@given(laid_out())
def test_layout_changes_nothing(text: str) -> None:
    """B167: an empty line, CRLF, a byte order mark, a tab or a missing end of line made a file be refused."""
    assert meaning(text) == meaning(VALID)


@given(st.integers(-(2**53), 2**53))
def test_durations_survive_printing(nanoseconds: int) -> None:
    seconds = nanoseconds / 1e9
    assert abs(parse_duration(format_duration(seconds)) - seconds) <= 1e-9
