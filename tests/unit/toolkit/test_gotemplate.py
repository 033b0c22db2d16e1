"""What templates render, judged by the rules of Go's text/template."""

import pytest

from waypost.toolkit.gotemplate.template import compile_template
from waypost.toolkit.gotemplate.values import Function, Struct


class Inner(Struct):
    go_type = "*dns.Question"

    def go_field(self, name: str) -> object:
        return {"Qtype": 16}[name]

    def __str__(self) -> str:
        return "inner"


class Data(Struct):
    go_type = "*template.templateData"

    def go_field(self, name: str) -> object:
        fields: dict[str, object] = {
            "Name": "x.example.",
            "Match": ["whole", "part"],
            "Group": {"n": "yes", "0": "whole"},
            "Empty": [],
            "Question": Inner(),
            "Meta": Function(lambda key: f"<{key}>", 1, 1),
        }
        return fields[name]


def render(text: str) -> str:
    return compile_template("answer", text).render(Data())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain } text }}", "plain } text }}"),
        ("{{ .Name }} 60 IN A 1.2.3.4", "x.example. 60 IN A 1.2.3.4"),
        ("{{.Question.Qtype}}", "16"),
        ("{{ .Question }}", "inner"),
        ("{{ .Group.n }}{{ .Group.none }}", "yes<no value>"),
        ("{{ .Group }}{{ .Match }}", "map[0:whole n:yes][whole part]"),
        ('{{ .Meta "a/b" }}{{ (.Meta "c") }}', "<a/b><c>"),
        ('{{ "k" | .Meta }}', "<k>"),
        ("{{ (index .Match 1) }}", "part"),
    ],
)
def test_fields_keys_and_methods(text: str, expected: str) -> None:
    assert render(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a {{- 1 -}} b", "a1b"),
        ("a {{-1}} b", "a -1 b"),
        ("a\n{{- /* gone\n}} */ -}}\nb", "ab"),
        ("a{{/* gone */}} b", "a b"),
        ("{{ print `raw \\n` 'a' }}", "raw \\n97"),
        ("{{ 0x1F }} {{ 017 }} {{ 0b11 }} {{ 0o17 }} {{ 1_000 }}", "31 15 3 15 1000"),
        ("{{ 1.50 }} {{ 1e3 }} {{ .5 }} {{ 1e21 }} {{ 1e20 }}", "1.5 1000 0.5 1e+21 100000000000000000000"),
        ('{{ "tab\\tquote\\"\\x41\\u00e9\\101" }}', 'tab\tquote"A\u00e9A'),
        ("{{ true }} {{ false }}", "true false"),
        ('{{ printf\n"%d"\n7 }}', "7"),
    ],
)
def test_literals_blanks_and_comments(text: str, expected: str) -> None:
    assert render(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{{ if eq .Group.n "no" "yes" }}Y{{ else }}N{{ end }}', "Y"),
        ("{{ if .Empty }}a{{ else if .Group }}b{{ else }}c{{ end }}", "b"),
        ("{{ if 0 }}a{{ else if false }}b{{ else }}c{{ end }}", "c"),
        ('{{ if "" }}a{{ end }}', ""),
        ("{{ with .Question }}{{ .Qtype }}{{ end }}", "16"),
        ("{{ with .Empty }}a{{ else }}{{ .Name }}{{ end }}", "x.example."),
        ("{{ with .Empty }}a{{ else with .Match }}{{ len . }}{{ end }}", "2"),
        ("{{ with $m := .Match }}{{ len $m }}{{ end }}", "2"),
        ("{{ range .Match }}<{{ . }}>{{ end }}", "<whole><part>"),
        ("{{ range $i, $e := .Match }}{{ $i }}{{ $e }} {{ end }}", "0whole 1part "),
        ("{{ range $e := .Match }}{{ $e }} {{ end }}", "whole part "),
        ("{{ range $k, $v := .Group }}{{ $k }}={{ $v }} {{ end }}", "0=whole n=yes "),
        ("{{ range .Empty }}a{{ else }}none{{ end }}", "none"),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        (
            "{{ range 5 }}{{ if eq . 1 }}{{ continue }}{{ end }}{{ if eq . 3 }}{{ break }}{{ end }}{{ . }}{{ end }}",
            "02",
        ),
        ("{{ range .Match }}{{ range 2 }}{{ break }}{{ end }}x{{ end }}", "xx"),
    ],
)
def test_control_structures(text: str, expected: str) -> None:
    assert render(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ $x := 1 }}{{ $x }}", "1"),
        ("{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}", "2"),
        ("{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}", "21"),
        ("{{ $g := .Group }}{{ $g.n }}", "yes"),
        ("{{ range .Match }}{{ $.Name }}{{ end }}", "x.example.x.example."),
        ('{{ "abc" | printf "%s-%s" "z" }}', "z-abc"),
        ('{{ .Name | len | printf "%03d" }}', "010"),
        ('{{ and 1 0 2 }} {{ or 0 "" "x" }} {{ not 1 }} {{ and 1 2 }} {{ or 0 "" }}', "0 x false 2 "),
        ('{{ or "set" (index .Match 9) }}', "set"),
        ('{{ eq 1 1 }} {{ ne "a" "b" }} {{ lt 1 2 }} {{ le "b" "a" }} {{ gt 2.5 1.5 }} {{ ge 1 1 }}',
         "true true true false true true"),
        ('{{ index .Group "n" }}{{ index .Group "none" }}{{ index "abc" 1 }}', "yes98"),
        ('{{ slice "abcdef" 1 3 }} {{ slice "abcdef" 4 }} {{ slice .Match 1 }}', "bc ef [part]"),
        ('{{ len "\u00e9" }} {{ len .Match }} {{ len .Group }}', "2 2 2"),
        ('{{ print 1 2 "a" 3 "b" "c" }}|{{ println 1 "a" }}', "1 2a3bc|1 a\n"),
    ],
)  # fmt: skip
def test_variables_pipelines_and_functions(text: str, expected: str) -> None:
    assert render(text) == expected


def test_functions_of_the_caller_come_beside_go_s() -> None:
    functions = {"double": Function(lambda value: value * 2, 1, 1)}
    assert compile_template("t", '{{ double "ab" | len }}', functions).render(Data()) == "4"


def test_templates_compare_by_what_they_say() -> None:
    assert compile_template("a", "{{ .Name }}") == compile_template("a", "{{ .Name }}")
    assert compile_template("a", "{{ .Name }}") != compile_template("a", "{{ .Type }}")
