"""What each kind of step does. An action gives nothing; a check gives the differences from what is expected."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from support.suite_runner.asking import REPLY_SECONDS, ask, asked_question, fetch
from support.suite_runner.normal_form import Difference, Json, differences
from support.suite_runner.stage import Stage

Differences = list[Difference]

_POLL = 0.05
_OUTPUT_SECONDS = 2.0
_ABSENCE_SECONDS = 0.4


def take(stage: Stage, step: Json) -> Differences:
    """Do one step."""
    for kind, act in ACTIONS.items():
        if kind in step:
            act(stage, step)
            return []
    for kind, check in CHECKS.items():
        if kind in step:
            return check(stage, step)
    raise ValueError(f"unknown kind of step: {sorted(step)}")


def _set_rules(stage: Stage, step: Json) -> None:
    change = step["upstream_set"]
    stage.loop.run(stage.upstreams[change.get("up", 1)].set_rules(stage.fill(change["rules"])))


ACTIONS: dict[str, Callable[[Stage, Json], None]] = {
    "sleep": lambda stage, step: time.sleep(step["sleep"]),
    "write": lambda stage, step: stage.write(step["write"]),
    "signal": lambda stage, step: stage.server.signal(step["signal"]),
    "upstream_set": _set_rules,
    "upstream_stop": lambda stage, step: stage.loop.run(stage.upstreams[step["upstream_stop"]].stop()),
    "upstream_start": lambda stage, step: stage.loop.run(stage.upstreams[step["upstream_start"]].start()),
}


def _query(stage: Stage, step: Json) -> Differences:
    query = stage.fill(step["query"])
    question = asked_question(query)
    port = stage.port(query.get("port", "{PORT}"))
    answers = [stage.fill(step[field]) for field in ("expect", "expect_newer") if field in step]

    def attempt() -> Differences:
        actual = ask(query.get("dst", "127.0.0.1"), port, query, step.get("timeout", REPLY_SECONDS))
        found = [differences(answer, actual, step.get("compare", ()), question) for answer in answers]
        return next((none for none in found if not none), found[0])

    return _within(step.get("retry", 0), attempt)


def _parallel(stage: Stage, step: Json) -> Differences:
    query, number = step["parallel"]["query"], step["parallel"]["n"]
    port = stage.port("{PORT}")

    def one(index: int) -> str:
        asked = {**query, "name": query["name"].replace("{i}", str(index))}
        form = ask("127.0.0.1", port, asked, step.get("timeout", REPLY_SECONDS))
        return str(form.get("rcode") or form.get("error") or "timeout")

    with ThreadPoolExecutor(number) as threads:
        actual = Counter(threads.map(one, range(number)))
    return [] if actual == step["expect"] else [Difference("rcodes", step["expect"], dict(actual))]


def _http(stage: Stage, step: Json) -> Differences:
    request, expected = step["http"], stage.fill(step["expect"])
    port = stage.port(str(request["port"]))

    def attempt() -> Differences:
        actual = fetch(port, request["path"], request.get("method", "GET"), step.get("timeout", REPLY_SECONDS))
        found = []
        for field, wanted in expected.items():
            if field == "body_regex":
                body = actual.get("body", "")
                patterns = [wanted] if isinstance(wanted, str) else wanted
                found += [
                    Difference(field, rx, body[-300:]) for rx in patterns if not re.search(rx, body, re.MULTILINE)
                ]
            elif actual.get(field) != wanted:
                found.append(Difference(field, wanted, actual.get(field, actual.get("error"))))
        return found

    return _within(step.get("retry", 0), attempt)


def _output(stage: Stage, step: Json) -> Differences:
    pattern = re.compile(stage.fill(step["stdout_regex"]), re.MULTILINE)
    absent = step.get("absent", False)
    end = time.monotonic() + step.get("wait", _ABSENCE_SECONDS if absent else _OUTPUT_SECONDS)
    while not (hit := pattern.search(stage.server.output())) and time.monotonic() < end:
        time.sleep(_POLL)
    if absent:
        return [Difference("stdout", f"not {pattern.pattern}", hit.group(0))] if hit else []
    return [] if hit else [Difference("stdout", pattern.pattern, stage.server.output()[-300:])]


def _upstream_count(stage: Stage, step: Json) -> Differences:
    wanted = step["upstream_count"]
    actual = stage.loop.run(stage.upstreams[wanted.get("up", 1)].count(wanted))
    return [] if actual == wanted["expect"] else [Difference("count", wanted["expect"], actual)]


def _exit(stage: Stage, step: Json) -> Differences:
    code = stage.server.wait(step["exit"].get("within", 5))
    return [] if code == step["expect"]["rc"] else [Difference("exit code", step["expect"]["rc"], code)]


CHECKS: dict[str, Callable[[Stage, Json], Differences]] = {
    "query": _query,
    "parallel": _parallel,
    "http": _http,
    "stdout_regex": _output,
    "upstream_count": _upstream_count,
    "exit": _exit,
}


def _within(seconds: float, attempt: Callable[[], Differences]) -> Differences:
    """The outcome of the first attempt that finds nothing, else of the last one in time."""
    end = time.monotonic() + seconds
    while (found := attempt()) and time.monotonic() < end:
        time.sleep(_POLL)
    return found
