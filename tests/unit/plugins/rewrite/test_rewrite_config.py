import pytest

from support.asking import block
from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.rewrite import parse, setup
from waypost.plugins.rewrite.rules import NameRule, RcodeRule, TtlRule


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("", "no rule type specified for rewrite"),
        ("stop", 'no rule type specified for rewrite after "stop"'),
        ("Foo a b", 'invalid rule type "Foo"'),
        ("answer name a b", "response rewrites must begin with a name rule"),
        ("name a", "too few arguments for a name rule"),
        (
            "name fuzzy a b",
            "name rule supports only exact, prefix, suffix, substring, and regex name matching, received: fuzzy",
        ),
        ("name regex ( b", "invalid regex matching pattern: ("),
        (f"name regex {'a' * 10001} b", "regex pattern too long: 10001 > 10000"),
        ("name regex a b answer", "invalid arguments for regex rule"),
        (
            "name regex a b c d",
            "exceeded the number of arguments for a non-answer rule argument for regex rule",
        ),
        ("name regex a b answer auto answer", "type missing for answer rule for regex rule"),
        ("name regex a b answer foo", 'invalid type "foo" for answer rule for regex rule'),
        ("name regex a b answer name x", "name answer rule for regex rule: 2 arguments required"),
        (
            "name regex a b answer value ( y",
            "value answer rule for regex rule: invalid regex matching pattern: (",
        ),
        (
            "name regex a b answer auto name x y",
            "auto name answer rule cannot be combined with explicit name anwer rules",
        ),
        ("type A", "type rules must have exactly two arguments"),
        ("type A B", 'invalid type "B"'),
        ("class IN IN IN", "class rules must have exactly two arguments"),
        ("class IN X", 'invalid class "X"'),
        ("ttl a", "too few (1) arguments for a ttl rule"),
        ("ttl a -", "invalid TTL '-' for a ttl rule"),
        ("ttl a 1-2-3", "invalid TTL '1-2-3' for a ttl rule"),
        ("ttl a 4294967296", "invalid TTL '4294967296' for a ttl rule"),
        ("ttl exact a 1 2", "invalid TTL '' for a ttl rule"),
        ("ttl fuzzy a 1", "ttl rule supports only exact, prefix, suffix, substring, and regex name matching"),
        ("ttl regex ( 1", "invalid regex pattern in a ttl rule: ("),
        ("rcode a 1", "too few (2) arguments for a rcode rule"),
        ("rcode a 1 FOO", "invalid replacement RCODE 'FOO' for a rcode rule"),
        ("rcode a 11 0", "invalid matching RCODE '11' for a rcode rule"),
        ("cname a", "too few or too many arguments for a cname rule"),
        ("cname fuzzy a b", "unknown cname rewrite type: fuzzy"),
        ("edns0 local", "too few arguments for an EDNS0 rule"),
        ("edns0 local add 1 x", 'invalid action: "add"'),
        ("edns0 foo set", 'invalid rule type "foo"'),
        ("edns0 local set 1", "EDNS0 local rules require exactly three args"),
        ("edns0 local set 65536 x", 'strconv.ParseUint: parsing "65536": value out of range'),
        ("edns0 local set 1 {foo}", 'unsupported variable name "{foo}"'),
        ("edns0 local set 1 {/foo}", 'unsupported variable name "{/foo}"'),
        ("edns0 local set 1 0xzz", "encoding/hex: invalid byte: U+007A 'z'"),
        ("edns0 local unset 1 x", "local unset action requires exactly two arguments"),
        ("edns0 nsid set x", "EDNS0 NSID rules can not have any args"),
        ("edns0 subnet unset x", "EDNS0 subnet unset action can not have any args"),
        ("edns0 subnet set 24", "EDNS0 subnet rules require exactly three args"),
        ("edns0 subnet set 33 56", "invalid IPv4 bit mask length 33"),
        ("edns0 subnet set 32 129", "invalid IPv6 bit mask length 129"),
    ],
)
def test_rules_that_are_refused(rule: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"rewrite {rule}"))
    assert str(caught.value) == error


def test_block_form() -> None:
    config = parse(make_directive("rewrite continue {\n name regex (.*)\\.a {1}.b\n answer name (.*)\\.b {1}.a\n}"))
    ((rule, stop),) = config.steps
    assert isinstance(rule, NameRule)
    assert (len(rule.answers), rule.auto, stop) == (1, False, False)


def test_rules_are_kept_in_order() -> None:
    config = parse(make_directive("rewrite name a b\nrewrite {\n ttl a 5\n}\nrewrite STOP rcode regex a NotImpl 16"))
    name, ttl, rcode = (step.rule for step in config.steps)
    assert isinstance(name, NameRule)
    assert name.auto
    assert isinstance(ttl, TtlRule)
    assert (ttl.lowest, ttl.highest) == (5, 5)
    assert isinstance(rcode, RcodeRule)
    assert (rcode.old, rcode.new) == (4, 16)
    assert [step.stop for step in config.steps] == [True, True, True]


def test_a_bad_pattern_of_cname_is_a_warning() -> None:
    served = block(setup, "rewrite cname regex (.* b")
    assert served.process.lines == ["[WARNING] invalid regex pattern in a cname rule: (.*: the rule fits nothing"]
