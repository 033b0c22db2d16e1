"""The recorded suites, replayed against the real process over real sockets: one test for each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from differences import DIFFERENCES

from support.directives import is_supported, unsupported, used
from support.suite_runner.crew import Crew
from support.suite_runner.run import counts
from support.suite_runner.suite import PORTS, Suite, fill, load

FOLDER = Path(__file__).parent.parent / "data/conformance"
PLAIN = {**dict.fromkeys(PORTS, "1053"), "DIR": "."}
FROM_MANIFESTS = ("kubernetes/default", "kubernetes/verified")

# Shrink this as plugins are written.
NOT_YET = {
    "azure", "clouddns",
}  # fmt: skip


class Case(NamedTuple):
    """A suite, and where it has its cluster from: "", api or manifests."""

    suite: Suite
    cluster: str

    @property
    def key(self) -> str:
        return f"{self.suite.key}+{self.cluster}" if self.cluster else self.suite.key


def directives(suite: Suite) -> set[str]:
    """Those of its Corefile and of the Corefiles that it writes later."""
    files = {name: fill(text, PLAIN) for name, text in suite.files.items()}
    later = [step["write"].get("Corefile", "") for step in suite.steps if "write" in step]
    corefiles = [fill(text, PLAIN) for text in (suite.corefile, *later)]
    return set().union(*(used(corefile, files, suite.env) for corefile in corefiles))


ALL = {suite.key: suite for suite in map(load, sorted(FOLDER.glob("*/*.json")))}


def cases() -> list[Case]:
    """What this version can replay, the slowest first so that nothing waits for them at the end."""
    able = [suite for suite in ALL.values() if all(map(is_supported, directives(suite)))]
    able.sort(key=lambda suite: -suite.duration)
    found = [Case(suite, "api" if suite.key.startswith("kubernetes/") else "") for suite in able]
    return found + [Case(suite, "manifests") for suite in able if suite.key in FROM_MANIFESTS]


@pytest.mark.timeout(150)
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.key)
def test_suite(case: Case, crew: Crew) -> None:
    result = crew.result(case.key)
    known = {each.step for each in DIFFERENCES if each.suite == case.suite.key}
    wrong = [str(failure) for failure in result.failures if failure.step not in known]
    report = "\n".join([*wrong, result.error, "server output:", result.output])
    assert (wrong, result.error) == ([], ""), report
    assert known == {failure.step for failure in result.failures}, "entries of differences.py that no longer differ"


def test_known_differences_name_steps_that_count() -> None:
    for suite, step, why in DIFFERENCES:
        assert counts(ALL[suite].steps[step])
        assert why.endswith(".")


def test_directives_without_a_plugin() -> None:
    assert unsupported() == NOT_YET
