import pytest

from waypost.corefile.zones import normalize_name
from waypost.plugins.rewrite.renaming import back_to, by_kind, by_pattern, fitting
from waypost.toolkit.regexp import compile_regexp
from waypost.wire import names
from waypost.wire.errors import BadName


@pytest.mark.parametrize(
    ("kind", "old", "new", "name", "expected"),
    [
        ("exact", "a.org", "b.org", "a.org.", "b.org."),
        ("exact", "a.org", "b.org", "x.a.org.", None),
        ("exact", ".", "b.org", ".", "b.org."),
        ("exact", "b.org", ".", "b.org.", "."),
        ("exact", "a..org", "b.org", "a.org.", None),
        ("prefix", "foo", "bar.baz", "foo.a.org.", "bar.baz.a.org."),
        ("prefix", "foo", "bar", "foobar.a.org.", None),
        ("prefix", "foo", "bar", "x.foo.a.org.", None),
        ("prefix", ".", "bar", "x.org.", None),
        ("suffix", ".a.org", ".b.net", "x.y.a.org.", "x.y.b.net."),
        ("suffix", ".a.org", ".b.net", "a.org.", None),
        ("suffix", ".a.org", ".b.net", "xa.org.", None),
        ("suffix", ".a.org", ".", "x.a.org.", "x."),
        ("suffix", "a.org", "b.net", "xa.org.", "xb.net."),
        ("suffix", "a.org", "b.net", "a.org.", "b.net."),
        ("suffix", ".a.org", "b.net", "x.a.org.", "xb.net."),
        ("suffix", ".", ".b.net", "x.a.", "x.a.b.net."),
        ("suffix", ".", ".b.net", ".", None),
        ("substring", ".in.", ".out.", "a.in.b.in.c.", "a.out.b.out.c."),
        ("substring", ".in.", ".out.", "in.b.", None),
    ],
)
def test_kinds(kind: str, old: str, new: str, name: str, expected: str | None) -> None:
    changed = by_kind(kind, normalize_name(old), normalize_name(new))(names.from_text(name))
    assert changed == (None if expected is None else names.from_text(expected))


def test_letter_case_of_what_is_kept_stays() -> None:
    change = by_kind("suffix", ".a.org.", ".b.org.")
    assert change(names.from_text("WwW.A.Org.")) == names.from_text("WwW.b.org.")
    assert by_kind("prefix", "foo.", "bar.")(names.from_text("FOO.A.")) == names.from_text("bar.A.")
    assert back_to(names.from_text("b.org."), names.from_text("a.org."))(names.from_text("X.B.org.")) == (
        names.from_text("X.a.org.")
    )


def test_a_length_byte_is_no_border() -> None:
    # The last byte of the first label is the length byte that the zone starts with.
    name = names.from_labels([b"x\x01", b"a\x03org"])
    assert by_kind("suffix", ".a\\003org.", ".b.")(name) == names.from_text("x\\001.b.")
    assert by_kind("suffix", ".org.", ".b.")(name) is None


@pytest.mark.parametrize(
    ("pattern", "template", "name", "expected"),
    [
        (r"(.*)-(us-east-1)\.org\.$", "{1}.service.{2}.consul", "ftp-us-east-1.org.", "ftp.service.us-east-1.consul."),
        (r"(.*)\.a\.$", "{1}.{2}.B", "x.a.", "x.{2}.b."),
        (r"^x(y|z)?w\.", "got-{1}.net", "xw.org.", "got-.net."),
        (r"b", "new.net", "abc.org.", "new.net."),
        (r"(.*)\.(.*)\.org", "{2}.{1}.net.", "one.two.org.uk.", "two.one.net."),
        (r"(\{2\})(x)", "{1}.net", "{2}x.org.", "{2}.net."),
        (r"b", "new.net", "a.org.", None),
    ],
)
def test_patterns(pattern: str, template: str, name: str, expected: str | None) -> None:
    changed = by_pattern(compile_regexp(pattern), template)(names.from_text(name))
    assert changed == (None if expected is None else names.from_text(expected))


@pytest.mark.parametrize(("pattern", "template"), [("^(.*)$", "{1}"), ("(.*)", "{1}" + "x" * 64), ("b()", "a.{1}.b")])
def test_a_template_that_gives_no_name(pattern: str, template: str) -> None:
    with pytest.raises(BadName):
        by_pattern(compile_regexp(pattern), template)(names.from_text("b.org."))


def test_names_that_get_too_long() -> None:
    long = names.from_labels([b"x" * 60] * 4)
    for change in (by_kind("prefix", "x" * 60 + ".", "y" * 63 + "." + "z" * 20 + "."), back_to(long[61:], long)):
        with pytest.raises(BadName):
            change(long)


def test_names_below_the_root_are_not_mapped_back() -> None:
    change = back_to(names.ROOT, names.from_text("a.org."))
    assert change(names.ROOT) == names.from_text("a.org.")
    assert change(names.from_text("x.org.")) is None


@pytest.mark.parametrize(
    ("kind", "text", "name", "expected"),
    [
        ("exact", "a.org.", "a.org.", True),
        ("suffix", ".a.org.", "x.a.org.", True),
        ("suffix", ".a.org.", "x.b.org.", False),
        ("substring", "a.", "xa.org.", True),
        ("prefix", "a.", "a.b.", True),
        ("prefix", "a.", "ab.", False),
    ],
)
def test_tests(kind: str, text: str, name: str, expected: bool) -> None:
    assert fitting(kind, text)(names.from_text(name)) is expected
