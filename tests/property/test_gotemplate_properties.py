"""Any text either compiles or is refused as a template; any template renders or fails as one."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from waypost.toolkit.gotemplate.errors import TemplateError
from waypost.toolkit.gotemplate.printf import sprintf
from waypost.toolkit.gotemplate.template import compile_template

_PIECES = (
    "{{", "}}", "{{-", "-}}", " ", "\n", "(", ")", "|", ".", ".a", ".b", "$", "$x", ":=", "=", ",", "if", "else", "end",
    "range", "with", "break", "continue", "nil", "true", "0", "1", "-1", "1.5", '"s"', "`r`", "'c'", "len", "index",
    "slice", "printf", "print", "eq", "lt", "and", "or", "not", '"%d%s%v"', "/*", "*/", "text", "define", "\\", '"',
)  # fmt: skip
_DATA = {"a": "text", "b": ["x", "y"], "c": {"d": "e"}}


def check(text: str) -> None:
    with suppress(TemplateError):
        assert isinstance(compile_template("t", text).render(_DATA), str)


@given(st.lists(st.sampled_from(_PIECES), max_size=25).map(" ".join))
def test_words_of_the_language_in_any_order(text: str) -> None:
    check(text)


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map(lambda words: "{{ " + " ".join(words) + " }}"))
def test_any_words_in_one_action(text: str) -> None:
    check(text)


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    check(text)
    check("{{" + text + "}}")


@given(
    st.text(alphabet="%-+# 0123456789.*[]dsqxvteEgfcU", max_size=20),
    st.lists(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.just(["a"]), st.just({"k": "v"})),
        max_size=4,
    ),
)
def test_printf_never_fails(template: str, arguments: list[object]) -> None:
    assert isinstance(sprintf(template, arguments), str)
