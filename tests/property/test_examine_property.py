"""Any text is examined to the end: findings with places, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.advising import UNKNOWN
from support.corefiles import DictReader
from waypost.advice.advise import advise
from waypost.advice.finding import ERROR
from waypost.advice.rules import RULES
from waypost.advice.subject import Subject, take_apart
from waypost.control.document import Document
from waypost.control.examine import examine
from waypost.corefile.parser import parse
from waypost.manifests.configmap import ConfigMapError, corefiles
from waypost.plugins.order import ORDER

WORDS = [
    *ORDER, *("{", "}", "{", "}", "\n", "\n", "\n", '"', "#", ",", "import", "(s)", "s", "{$UNSET}", "{%A%}", "\\"),
    *(".", "example.org", "10.0.0.0/8", "127.0.0.1", "::1", "tls://1.1.1.1", "/etc/resolv.conf", ":53", "0"),
    *("30", "30s", "answer", "to", "*", "secret", "secrets", "key", "admin", "expr", "upstream", "noendpoints"),
    *("success", "denial", "disable", "prefetch", "serve_stale", "max_concurrent", "max_fails", "except", "policy"),
    *("fallthrough", "pods", "insecure", "ttl", "endpoint", "lameduck", "class", "name", "regex", "^a.org$", "match"),
    *("# waypost: ignore W101", "# waypost: ignore W999\n"),
]  # fmt: skip
texts = st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
blocks = st.lists(st.sampled_from(WORDS), max_size=40).map(lambda words: f". {{\n{' '.join(words)}\n}}\n")


@pytest.fixture(scope="module", autouse=True)
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Paths that the words make lead nowhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("examine"))
        yield  # type: ignore[misc]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # plugins are imported meanwhile
@given(st.one_of(texts, blocks))
def test_any_text_is_examined(text: str) -> None:
    for found in examine(Document("Corefile", text)):
        assert (found.severity is ERROR) == (found.code == "")
        assert found.found
        assert found.line > 0 or not text.strip()


@given(st.one_of(texts, blocks).filter(lambda text: "\0" not in text))
def test_any_text_gives_advice(text: str) -> None:
    """Also what does not start: rules must not rely on what plugins refuse."""
    corefile = parse(text, "Corefile", env={}, known=ORDER, read=DictReader(), report=lambda error: None)
    known = {rule.code for rule in RULES}
    for found in advise(Subject(take_apart(corefile, "53"), UNKNOWN, {"Corefile": text})):
        assert found.code in known
        assert found.column > 0


@given(
    st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(["kind: ConfigMap", "data:", "  Corefile: |", "    a {", "---", "- &a", "*a", "'", "\t"])
        ).map("\n".join),
    )
)
def test_any_text_may_hold_configmaps(text: str) -> None:
    error = None
    try:
        found = corefiles(text)
    except ConfigMapError as exc:
        error = exc
        found = []
    assert error is None or 0 < error.line <= text.count("\n") + 1
    rows = text.split("\n")
    for each in found:
        line, column = each.place(1, 1)
        assert 0 < line <= len(rows)
        if each.exact and each.text.strip():
            first = each.text.split("\n")[0]
            assert rows[line - 1].rstrip("\r")[column - 1 :] == first or not first
