import pytest

from waypost.corefile.errors import CorefileError
from waypost.corefile.limits import Budget
from waypost.corefile.model import Token
from waypost.corefile.variables import Variables

ENV = {"A": "1", "B": "<{$A}>", "C": "{%A%}", "A:dflt": "named", "EMPTY": "", "X{$A": "odd"}


def expand(text: str, env: dict[str, str] | None = None, characters: int = 10_000) -> str:
    variables = Variables(ENV if env is None else env, Budget(characters=characters))
    return variables.expand(Token(text, "Corefile", 7)).text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("{$A}", "1"),
        ("{%A%}", "1"),
        ("x{$A}y{$A}z{%A%}", "x1y1z1"),
        ("{$NONE}", ""),
        ("{$EMPTY}", ""),
        ("{$B}", "<1>"),
        # The pass over {%...%} comes first and is over by then.
        ("{$C}", "{%A%}"),
        ("{$A:dflt}", "named"),
        ("{$X{$A}", "odd"),
        ("{$}", "{$}"),
        ("{%%}", "{%%}"),
        ("{%}", "{%}"),
        ("{$A", "{$A"),
        ("{%A}", "{%A}"),
        ("{$}{$A}", "{$}{$A}"),
        ("{1} {name} {>id} {/x/y}", "{1} {name} {>id} {/x/y}"),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert expand(text) == expected


def test_place_is_kept() -> None:
    token = Variables({"A": "x\ny"}, Budget()).expand(Token("{$A}", "Corefile", 7))
    assert token == Token("x\ny", "Corefile", 7, 0)


@pytest.mark.parametrize("env", [{"A": "{$A}"}, {"A": "{$B}", "B": "{$A}"}])
def test_a_variable_that_refers_to_itself(env: dict[str, str]) -> None:
    with pytest.raises(CorefileError, match=r"^Corefile:7 - .*expand without end$"):
        expand("{$A}", env)


def test_a_variable_that_multiplies() -> None:
    """S22"""
    env = {f"V{n}": f"{{$V{n + 1}}}" * 10 for n in range(50)}
    with pytest.raises(CorefileError, match=r"too much text"):
        expand("{$V0}", env)


def test_bytes_that_are_no_text() -> None:
    """The environment gives them as surrogates, and no file or name can hold these."""
    assert Variables({"A": "a\udcffb"}, Budget()).expand(Token("{$A}", "Corefile", 7)).text == "a\ufffdb"
