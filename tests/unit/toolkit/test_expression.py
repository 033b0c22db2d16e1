import pytest
from hypothesis import given, strategies

from waypost.toolkit.expression import EvaluationError, ExpressionError, Function, Kind, compile_expression

FUNCTIONS = {
    "name": Function(Kind.STRING, (), lambda context: context),
    "size": Function(Kind.INT, (), lambda context: len(str(context))),
    "twice": Function(Kind.INT, (Kind.INT,), lambda context, number: 2 * number),
    "fails": Function(Kind.BOOL, (), lambda context: fail()),
}


def fail() -> bool:
    raise EvaluationError("no value")


def value(source: str, context: str = "abc") -> object:
    return compile_expression(source, FUNCTIONS).evaluate(context)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("true", True),
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("7 % 3 == 1 and -7 % 3 == -1", True),
        ("2 ** 3 ** 2 == 512", True),
        ("-2 ^ 2", -4.0),
        ("(1 + 2) * 3", 9),
        ("0x1F + 0b11 + 1_000 + 0o10", 1042),
        ("1.5e1 + .5", 15.5),
        ("not true or true", True),
        ("!(true || true)", False),
        ("!true == false", True),
        ("not (1 in [1, 2,])", False),
        ("3 not in [1, 2] && 'a' not contains 'b'", True),
        ("1 == 1.0 and 1 < 1.5 and 'a' < 'b' and 'b' >= 'b' and 2 != 3", True),
        ("1 in [true]", False),
        ("name() in ['abc', 'x']", True),
        ("name() in ['x', name()]", True),
        ("size() in [1, size()]", True),
        ("name() matches '^a[[:alpha:]]c$'", True),
        ("name() matches name()", True),
        ("'aXc' matches \"(?i)AXC\" && 'a.c' matches 'a\\\\.c'", True),
        ("'abc' startsWith 'ab' and 'abc' endsWith 'bc' and 'abc' contains 'b'", True),
        ("'a' + \"b\" + `c\\n`", "abc\\n"),
        (r"'\x41\u0042\103\t\'\"'", "ABC\t'\""),
        ("size() > 2 ? 'long' : 'short'", "long"),
        ("false ? 1 : true ? 2 : 3", 2),
        ("let a = size(); let b = a + 1; a * b", 12),
        ("twice(let a = 1; a + 1)", 4),
        ("nil ?? 'other'", "other"),
        ("fails() ?? true", True),
        ("true || fails()", True),
        ("false && fails()", False),
        ("len(name()) + len([1, 2])", 5),
        ("name() | upper() | trimPrefix('A') == 'BC'", True),
        ("split('a.b.c', '.')[1] + split('a.b', '.')[-1]", "bb"),
        ("'abc'[0]", "a"),
        ("join(['a', 'b'], '-')", "a-b"),
        ("int('7') + abs(-1) == 8 && float(1) == 1.0 && string(1) == '1'", True),
        ("first([]) == nil && last([1, 2]) == 2", True),
        ("indexOf('abc', 'c') == 2 && lastIndexOf('aba', 'a') == 2", True),
        ("lower('A') + trim(' b ') + trimSuffix('cd', 'd')", "abc"),
        ("hasPrefix('ab', 'a') && hasSuffix('ab', 'b')", True),
        ("true // a comment\n /* another */ && true", True),
    ],
)
def test_values(source: str, expected: object) -> None:
    found = value(source)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("", "unexpected token EOF"),
        ("(((", "unexpected token EOF (1:3)\n | (((\n | ..^"),
        ("foo()", "unknown name foo (1:1)\n | foo()\n | ^"),
        ("true ||\n  foo", "unknown name foo (2:3)\n |   foo\n | ..^"),
        ("false && foo", "unknown name foo (1:10)\n | false && foo\n | .........^"),
        ("1 2", 'unexpected token Number("2") (1:3)\n | 1 2\n | ..^'),
        ("1 +", "unexpected token EOF (1:3)\n | 1 +\n | ..^"),
        ("* 1", 'unexpected token Operator("*") (1:1)\n | * 1\n | ^'),
        ("name()]", 'unexpected token Bracket("]") (1:7)\n | name()]\n | ......^'),
        ("'abc", "literal not terminated (1:1)\n | 'abc\n | ^"),
        ("1 @", "unrecognized character: U+0040 '@' (1:3)\n | 1 @\n | ..^"),
        (r"'\q'", "unable to unescape string (1:1)\n | '\\q'\n | ^"),
        (r"'\UFFFFFFFF'", "unable to unescape string (1:1)\n | '\\UFFFFFFFF'\n | ^"),
        ("name() == 1", "invalid operation: == (mismatched types string and int) (1:1)"),
        ("1 < 'a'", "invalid operation: < (mismatched types int and string) (1:1)"),
        ("'a' in 'b'", "invalid operation: in (mismatched types string and string) (1:1)"),
        ("1 && true", "invalid operation: && (mismatched types int and bool) (1:1)"),
        ("1.5 % 2", "invalid operation: % (mismatched types float64 and int) (1:1)"),
        ("!name()", "invalid operation: ! (mismatched type string) (1:1)"),
        ("-name()", "invalid operation: - (mismatched type string) (1:1)"),
        ("1 ? 2 : 3", "non-bool expression (type int) used as condition (1:1)"),
        ("'a' matches '('", "error parsing regexp: missing closing ): `(` (1:13)"),
        ("1 / 0", "division by zero (1:1)"),
        ("2 ** 2000", "exponent too large (1:1)"),
        ("twice()", "not enough arguments to call twice (1:1)"),
        ("twice(1, 2)", "too many arguments to call twice (1:1)"),
        ("twice('a')", "cannot use string as argument (type int) to call twice (1:7)"),
        ("name", "name is a function: write name() (1:1)"),
        ("any([true], #)", "any is not supported yet (1:1)"),
        ("{}", "maps are not supported yet (1:1)"),
        ("name().x", "members are not supported yet (1:7)"),
        ("name()[0:1]", "slices are not supported yet (1:9)"),
        ("1[0]", "cannot fetch int from int (1:3)"),
        ("let name = 1; 2", "cannot redeclare name (1:5)"),
        ("let a = 1; let a = 2; 3", "cannot redeclare a (1:16)"),
        ("(let a = 1; a) + a", "unknown name a (1:18)"),
        ("let 1 = 2; 3", 'unexpected token Number("1") (1:5)'),
        ("0x_", "invalid number: 0x_ (1:1)"),
        ("(" * 200, "expression nests too deeply"),
        ("!" * 200, "expression nests too deeply"),
        ("1" + " + 1" * 400, "too many operators"),
    ],
)
def test_what_is_refused(source: str, error: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source, FUNCTIONS)
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    "source",
    [
        "fails()",
        "name()[9]",
        "first([1]) + 'a'",
        "first(['a']) + 1",
        "first([1]) && true",
        "first([1]) startsWith 'a'",
        "int('x')",
        "float('x')",
        "len(nil)",
        "join([1], ',')",
        "1 / (size() - 3)",
        "first([1])[0]",
        "1 in first([1])",
        "name() matches name() + '('",
        "first(['a']) < 1",
    ],
)
def test_what_has_no_value(source: str) -> None:
    expression = compile_expression(source, FUNCTIONS)
    with pytest.raises(EvaluationError):
        expression.evaluate("abc")


def test_texts_do_not_grow_without_end() -> None:
    with pytest.raises(EvaluationError):
        value("let a = name() + name(); let b = a + a; let c = b + b; c + c", "x" * 10_000)


def test_kinds_are_known_beforehand() -> None:
    kinds = {"1": Kind.INT, "1 / 1": Kind.FLOAT, "1 + 1.0": Kind.FLOAT, "[1]": Kind.ARRAY, "first([1])": Kind.ANY}
    kinds |= {"true ? 1 : 2": Kind.INT, "true ? 1 : 'a'": Kind.ANY, "name()": Kind.STRING, "nil": Kind.NIL}
    assert {source: compile_expression(source, FUNCTIONS).kind for source in kinds} == kinds


def test_the_longest_row_of_operators_can_be_evaluated() -> None:
    assert value("size() == 0" + " || size() == 0" * 70) is False


@given(strategies.text(alphabet="abn1.'\"()[]{}<>=!&|+-*/%^?:;, \\\n", max_size=40))
def test_any_text_compiles_or_is_refused(source: str) -> None:
    try:
        compile_expression(source, FUNCTIONS).evaluate("abc")
    except (ExpressionError, EvaluationError):
        pass
