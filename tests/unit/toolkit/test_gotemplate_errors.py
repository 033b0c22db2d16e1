"""What templates refuse, in Go's words."""

import pytest

from waypost.toolkit.gotemplate.errors import TemplateError
from waypost.toolkit.gotemplate.template import compile_template
from waypost.toolkit.gotemplate.values import Function, Struct


class Data(Struct):
    go_type = "*template.templateData"

    def go_field(self, name: str) -> object:
        def fail() -> str:
            raise ValueError("no luck")

        fields: dict[str, object] = {
            "Name": "x.",
            "Group": {"n": "yes"},
            "Match": ["a"],
            "Meta": Function(lambda key: "", 1, 1),
            "Fail": Function(fail, 0, 0),
        }
        return fields[name]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{{ .Name 60 IN A 192.0.2.1", 'function "IN" not defined'),
        ("{{ nosuch .Name }}", 'function "nosuch" not defined'),
        ("{{ .Name ", "unclosed action"),
        ("{{ end }}", "unexpected {{end}}"),
        ("{{ else }}", "unexpected {{else}}"),
        ("{{ if true }}", "unexpected EOF"),
        ("{{ if true }}a{{ else }}b{{ else }}c{{ end }}", "expected end; found {{else}}"),
        ("{{ if }}a{{ end }}", "missing value for if"),
        ("{{ range }}a{{ end }}", "missing value for range"),
        ("{{ }}", "missing value for command"),
        ("{{ () }}", "missing value for parenthesized pipeline"),
        ("{{ .Name | }}", "missing value for command"),
        ("{{ 1 | 2 }}", "non executable command in pipeline stage 2"),
        ("{{ $y }}", 'undefined variable "$y"'),
        ("{{ $y = 1 }}", 'undefined variable "$y"'),
        ("{{ if true }}{{ $x := 1 }}{{ end }}{{ $x }}", 'undefined variable "$x"'),
        ("{{ (1 }}", "unclosed left paren"),
        ("{{ 1) }}", "unexpected right paren"),
        ('{{ "abc }}', "unterminated quoted string"),
        ("{{ `abc }}", "unterminated raw quoted string"),
        ("{{ 'a }}", "unterminated character constant"),
        ("{{ a#b }}", "bad character U+0023 '#'"),
        ("{{ # }}", "unrecognized character in action: U+0023 '#'"),
        ("{{ 1x }}", 'bad number syntax: "1x"'),
        ("{{ 09 }}", 'bad number syntax: "09"'),
        ("{{ 99999999999999999999 }}", 'bad number syntax: "99999999999999999999"'),
        ('{{ "\\z" }}', "invalid syntax"),
        ('{{ "\\400" }}', "invalid syntax"),
        ("{{ 'ab' }}", "malformed character constant: 'ab'"),
        ('{{ "a"."b" }}', 'unexpected "." in operand'),
        ('{{ "a".Foo }}', r'unexpected . after term "\"a\""'),
        ("{{/* x }}", "unclosed comment"),
        ("{{/* x */ 1 }}", "comment ends before closing delimiter"),
        ("{{ break }}", "{{break}} outside {{range}}"),
        ("{{ end", "unclosed action"),
        ('{{ define "x" }}{{ end }}', "{{define}} is not supported yet"),
        ('{{ template "x" }}', "{{template}} is not supported yet"),
        ("{{ range $a, $b, $c := .Match }}{{ end }}", 'range can only initialize variables, found "$b"'),
        ("{{ .Name if }}", "unexpected <if> in operand"),
    ],
)
def test_errors_at_compilation(text: str, error: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_template("answer", text)
    assert str(caught.value) == f"template: answer:1: {error}"


def test_the_line_of_an_error_is_told() -> None:
    with pytest.raises(TemplateError, match=r"^template: answer:3: function"):
        compile_template("answer", "a\n\n{{ nosuch }}")


def test_nesting_is_bounded() -> None:
    with pytest.raises(TemplateError, match="nested too deep"):
        compile_template("t", "{{ " + "(" * 500 + "1" + ")" * 500 + " }}")
    with pytest.raises(TemplateError, match="nested too deep"):
        compile_template("t", "{{ if 1 }}" * 500 + "{{ end }}" * 500)
    with pytest.raises(TemplateError, match="nested too deep"):
        compile_template("t", "{{ if 0 }}" + "{{ else if 0 }}" * 500 + "{{ end }}")


@pytest.mark.parametrize(
    ("text", "where", "error"),
    [
        ("{{ .Nothing }}", "1:3: executing \"answer\" at <.Nothing>",
         "can't evaluate field Nothing in type *template.templateData"),
        ("a\n b {{ .Name.Foo }}", "2:11: executing \"answer\" at <.Name.Foo>",
         "can't evaluate field Foo in type string"),
        ('{{ .Name "x" }}', '1:3: executing "answer" at <.Name>',
         "Name has arguments but cannot be invoked as function"),
        ('{{ .Group.n "x" }}', '1:9: executing "answer" at <.Group.n>', "n is not a method but has arguments"),
        ("{{ .Meta }}", '1:3: executing "answer" at <.Meta>', "wrong number of args for Meta: want 1 got 0"),
        ("{{ .Fail }}", '1:3: executing "answer" at <.Fail>', "error calling Fail: no luck"),
        ("{{ index .Match 5 }}", '1:3: executing "answer" at <index .Match 5>',
         "error calling index: index out of range: 5"),
        ('{{ index .Match "a" }}', '1:3: executing "answer" at <index .Match "a">',
         "error calling index: cannot index slice/array with type string"),
        ("{{ slice .Name 2 1 }}", '1:3: executing "answer" at <slice .Name 2 1>',
         "error calling slice: invalid slice index: 2 > 1"),
        ("{{ len 3 }}", '1:3: executing "answer" at <len 3>', "error calling len: len of type int"),
        ("{{ eq 1 1.0 }}", '1:3: executing "answer" at <eq 1 1.0>',
         "error calling eq: incompatible types for comparison"),
        ("{{ lt true false }}", '1:3: executing "answer" at <lt true false>',
         "error calling lt: invalid type for comparison"),
        ('{{ eq .Group.none "x" }}', '1:3: executing "answer" at <eq .Group.none "x">',
         "error calling eq: invalid value; expected reflect.Value"),
        ("{{ nil }}", '1:3: executing "answer" at <nil>', "nil is not a command"),
        ("{{ 3 4 }}", '1:3: executing "answer" at <3 4>', "can't give argument to non-function 3"),
        ("{{ len }}", '1:3: executing "answer" at <len>', "wrong number of args for len: want 1 got 0"),
        ("{{ range .Name }}{{ end }}", '1:9: executing "answer" at <.Name>', "range can't iterate over x."),
        ("{{ and }}", '1:3: executing "answer" at <and>', "wrong number of args for and: want at least 1 got 0"),
    ],
)  # fmt: skip
def test_errors_at_rendering(text: str, where: str, error: str) -> None:
    template = compile_template("answer", text)
    with pytest.raises(TemplateError) as caught:
        template.render(Data())
    assert str(caught.value) == f"template: answer:{where}: {error}"


def test_a_long_piece_of_source_is_cut_in_the_message() -> None:
    with pytest.raises(TemplateError, match=r"at <index \.Match 1000000\.\.\.>"):
        compile_template("answer", "{{ index .Match 1000000000 }}").render(Data())
