"""Old Corefiles step by step, and what must stay as it is."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest

from support.tree import ROOT, code_blocks, pages
from waypost.corefile.errors import CorefileError
from waypost.corefile.layout import rows
from waypost.corefile.stock import stock_corefile
from waypost.migration.history import HISTORY, OLDEST, Kind, parse_version, steps_between
from waypost.migration.migrate import Migrated, migrate

ALL = steps_between(OLDEST, None, advised=True)
REQUIRED = steps_between(OLDEST, None, advised=False)


def changed(text: str, *, older: str = "1.0.0", advised: bool = True, newer: str = "") -> Migrated:
    return migrate(
        text,
        "Corefile",
        steps_between(parse_version(older), parse_version(newer) if newer else None, advised=advised),
    )


class Case(NamedTuple):
    """A Corefile, from which release to which, and what it becomes."""

    name: str
    older: str
    newer: str
    before: str
    after: str


def read_cases() -> list[Any]:
    """`=== name: VERSION to VERSION`, the text, `--- becomes` or `--- as it was`, the text."""
    cases = []
    for part in (ROOT / "tests/data/migration/steps.txt").read_text(encoding="utf-8").split("=== ")[1:]:
        head, body = part.split("\n", 1)
        name, older, newer = re.fullmatch(r"(.+): (\S+) to (\S+)", head).groups()  # type: ignore[union-attr]
        before, kind, after = re.fullmatch(r"(.*)--- (as it was|becomes)\n(.*)", body, re.DOTALL).groups()  # type: ignore[union-attr]
        case = Case(name, older, newer.replace("today", ""), before, before if kind == "as it was" else after)
        cases.append(pytest.param(case, id=name))
    return cases


@pytest.mark.parametrize("case", read_cases())
def test_steps(case: Case) -> None:
    made = changed(case.before, older=case.older, newer=case.newer)
    assert made.text == case.after
    assert bool(made.notices) == (case.before != case.after)
    assert changed(made.text, older=case.older, newer=case.newer).text == made.text, "once is enough"


@pytest.mark.parametrize("case", read_cases())
def test_who_has_the_change_is_left_alone(case: Case) -> None:
    newer = case.newer or "1.14.2"
    assert changed(case.before, older=newer, newer=newer) == (case.before, [])


def test_no_text() -> None:
    assert changed("") == ("", [])


def test_required_only() -> None:
    text = ".:53 {\n    health\n    kubernetes a {\n        upstream\n    }\n    proxy . 192.0.2.1\n}\n"
    expected = ".:53 {\n    health\n    kubernetes a\n    forward . 192.0.2.1\n}\n"
    assert changed(text, advised=False).text == expected


def test_notices_name_lines_of_the_old_text() -> None:
    text = "# one\n. {\n    health\n    proxy . 192.0.2.1\n    kubernetes a {\n        upstream\n    }\n}\n"
    lines = {notice.text: notice.line for notice in changed(text).notices}
    assert lines["renamed: proxy to forward"] == 4
    assert lines["kubernetes: dropped upstream"] == 6
    assert lines["forward: added max_concurrent 1000"] == 4


def test_braces_on_lines_with_words() -> None:
    made = changed(". { errors # all\n    proxy . 192.0.2.1\n} a.test\n{\n    whoami\n}\n", advised=False)
    assert made.text == ". {\n    errors # all\n    forward . 192.0.2.1\n}\n\na.test {\n    whoami\n}\n"
    assert "canonical form" in made.notices[0].text
    with pytest.raises(CorefileError, match=r"^Corefile:2 - .*a brace shares its line with other words"):
        changed(". {\n    health { lameduck 5s\n    }\n}\n")


@pytest.mark.parametrize("text", [". {\n", ". {\n}\n}\n", '. {\n    chaos "a\n}\n'])
def test_what_is_no_corefile(text: str) -> None:
    with pytest.raises(CorefileError):
        changed(text)


def test_strange_bytes_stay() -> None:
    text = '\ufeff.:53 {\r\n    chaos "a\n b" # c\r\n    proxy . 192.0.2.1\r\n}\r\n'
    assert changed(text, advised=False).text == text.removeprefix("\ufeff").replace("proxy", "forward")


def test_todays_corefile_stays() -> None:
    text = stock_corefile("cluster.local", stub_domains={"corp.example": ("192.0.2.1",)})
    assert changed(text) == (text, [])


CORPUS = [block for page in pages() for _, block in code_blocks(page, "corefile")]


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
def test_corefiles_of_today_need_no_change(text: str) -> None:
    """What the pages show runs as it is; what is advised is only added, and comments and words stay in their order."""
    assert migrate(text, "Corefile", REQUIRED).text in (text, migrate(text, "Corefile", ()).text)
    made = migrate(text, "Corefile", ALL).text
    assert is_part(words(text), words(made))
    assert sorted(comments(text)) == sorted(comments(made))
    assert migrate(made, "Corefile", ALL).text == made


def words(text: str) -> list[str]:
    return [word.text for row in rows(text, "") for word in row.words]


def comments(text: str) -> list[str]:
    return [row.comment for row in rows(text, "") if row.comment]


def is_part(some: list[str], more: list[str]) -> bool:
    """Whether all of `some` is in `more` in this order."""
    rest = iter(more)
    return all(word in rest for word in some)


def test_history_is_in_order() -> None:
    assert [step.version for step in HISTORY] == sorted(step.version for step in HISTORY)
    assert {step.kind for step in HISTORY} == set(Kind)
    page = (ROOT / "docs/migrate.md").read_text(encoding="utf-8")
    for step in HISTORY:
        version = ".".join(map(str, step.version))
        assert f"| {version} | {step.kind.value} | {step.what} |" in page


@pytest.mark.parametrize("text", ["", "1", "1.x", "1.2.3.4", "v", "1.2.٣"])
def test_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="expected a version"):
        parse_version(text)


def test_versions() -> None:
    assert [parse_version(text) for text in ("1.6.5", "v1.14.2-eks", "1.7")] == [(1, 6, 5), (1, 14, 2), (1, 7)]
