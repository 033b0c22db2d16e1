"""A recorded suite as it stands in its file: a Corefile, files, scripted upstreams, and steps to take in order.

The format is described in tests/data/conformance/README.md.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

CHECKS = ("query", "parallel", "http", "stdout_regex", "upstream_count", "exit")
PORTS = ("PORT", "PORT2", "PORT3", "UP1", "UP2")


@dataclass(frozen=True, slots=True)
class Suite:
    """One file; `key` is its folder and name, as `plugins/cache-default`. Times are in seconds."""

    key: str
    corefile: str = field(repr=False)
    steps: tuple[Json, ...] = field(repr=False)
    files: dict[str, str] = field(repr=False)
    upstream: tuple[Json, ...] = field(repr=False)
    env: dict[str, str]
    settle: float
    timeout: float
    exits: bool
    """The server is meant to end by itself: do not wait for it to answer."""

    @property
    def upstreams(self) -> dict[int, list[Json]]:
        """The rules of each upstream by its number; a rule with `empty` only says that the upstream exists."""
        rules: dict[int, list[Json]] = {}
        for rule in self.upstream:
            of_one = rules.setdefault(rule.get("up", 1), [])
            if not rule.get("empty"):
                of_one.append(rule)
        return rules

    @property
    def ports(self) -> list[str]:
        """The placeholders that need a port."""
        text = json.dumps([self.corefile, self.files, self.steps, self.upstream, self.env])
        named = {f"UP{number}" for number in self.upstreams} | {"PORT"}
        return [name for name in PORTS if name in named or f"{{{name}}}" in text]

    @property
    def duration(self) -> float:
        """About how long it must take: its sleeps."""
        return sum(float(step.get("sleep", 0)) for step in self.steps) + self.settle


def load(path: Path) -> Suite:
    """Read a suite."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    return Suite(
        key=f"{path.parent.name}/{path.stem}",
        corefile=raw["corefile"],
        steps=tuple(raw["steps"]),
        files=raw.get("files", {}),
        upstream=tuple(raw.get("upstream", ())),
        env=raw.get("env", {}),
        settle=raw.get("settle", 0.05),
        timeout=raw.get("timeout", 90),
        exits=raw.get("no_wait", False),
    )


def label(step: Json) -> str:
    """What a step asks, for messages."""
    query = step.get("query")
    if query is None:
        return next((f"{kind} {json.dumps(step[kind])[:90]}" for kind in CHECKS if kind in step), json.dumps(step)[:90])
    if "raw" in query:
        return f"raw {query['raw'][:40]}"
    rest = [f"{key}={value}" for key, value in query.items() if key not in ("name", "type")]
    return " ".join([query["name"], query["type"], *rest])


def fill(value: Any, placeholders: dict[str, str]) -> Any:
    """`value` with `{NAME}` replaced in every text inside it, keys too."""
    if isinstance(value, str):
        for name, text in placeholders.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, dict):
        return {fill(key, placeholders): fill(item, placeholders) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, placeholders) for item in value]
    return value
