"""Replay one suite and say what differed."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from support.suite_runner.normal_form import Difference, Json
from support.suite_runner.process import ServerFailed
from support.suite_runner.stage import Host, Stage
from support.suite_runner.steps import take
from support.suite_runner.suite import CHECKS, Suite, label

_SILENT_STEPS = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """A step that counts and differed; `step` is its index."""

    step: int
    label: str
    differences: list[Difference]

    def __str__(self) -> str:
        lines = [f"step {self.step}: {self.label}"]
        for name, expected, actual in self.differences:
            lines += [f"    {name}: expected {expected}", f"    {' ' * len(name)}  actual   {actual}"]
        return "\n".join(lines)


@dataclass(slots=True)
class Result:
    """How a suite went. `error` says why it did not get to its end; `output` is the server's, if something is wrong."""

    suite: str
    failures: list[Failure] = field(default_factory=list)
    error: str = ""
    output: str = ""


def replay(suite: Suite, host: Host, cluster_line: str = "") -> Result:
    """Run every step against a fresh server. `cluster_line` takes the place of `{CLUSTER}`."""
    result = Result(suite.key)
    try:
        with Stage(suite, host, cluster_line) as stage:
            _take_all(stage, result)
            if result.failures or result.error:
                result.output = stage.server.output()[-2000:]
    except ServerFailed as error:
        result.error = str(error)
    return result


def counts(step: Json) -> bool:
    """Whether a step is judged."""
    return not step.get("ungraded") and any(kind in step for kind in CHECKS)


def _take_all(stage: Stage, result: Result) -> None:
    end = time.monotonic() + stage.suite.timeout
    silent = 0
    for index, step in enumerate(stage.suite.steps):
        if time.monotonic() > end:
            result.error = f"not at its end after {stage.suite.timeout} s"
            return
        found = take(stage, step)
        if not counts(step):
            continue
        if found:
            result.failures.append(Failure(index, label(step), found))
        silent = silent + 1 if any(each.field == "timeout" and each.actual is True for each in found) else 0
        if silent == _SILENT_STEPS:
            result.error = "the server stopped answering"
            return
