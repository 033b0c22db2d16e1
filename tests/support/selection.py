"""Label and field selectors of the simulated API server, as predicates over objects."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]


def label_selector(text: str) -> Callable[[Json], bool]:
    """A label selector as a predicate over labels; ValueError when it is malformed."""
    tests: list[Callable[[Json], bool]] = []
    for part in filter(None, (part.strip() for part in re.split(r",(?![^(]*\))", text))):
        if match := re.fullmatch(r"(!?)\s*([\w./-]+)", part):
            tests.append(lambda labels, key=match[2], no=bool(match[1]): (key in labels) != no)
        elif match := re.fullmatch(r"([\w./-]+)\s+(in|notin)\s*\(([^()]*)\)", part):
            values = {value.strip() for value in match[3].split(",")}
            wanted = match[2] == "in"
            tests.append(lambda labels, k=match[1], v=values, w=wanted: (labels.get(k) in v) == w)
        elif match := re.fullmatch(r"([\w./-]+)\s*(==|=|!=)\s*([\w./-]*)", part):
            wanted = match[2] != "!="
            tests.append(lambda labels, k=match[1], v=match[3], w=wanted: (labels.get(k) == v) == w)
        else:
            raise ValueError(part)
    return lambda labels: all(test(labels) for test in tests)


def matcher(plural: str, namespace: str, query: Json) -> Callable[[Json], bool]:
    """The objects that a request is about, as a predicate."""
    labels_match = label_selector(query.get("labelSelector", ""))
    phases = set(re.findall(r"status\.phase!=(\w+)", query.get("fieldSelector", "")))

    def match(obj: Json) -> bool:
        meta = obj["metadata"]
        if namespace and meta.get("namespace") != namespace:
            return False
        if plural == "pods" and obj.get("status", {}).get("phase") in phases:
            return False
        return labels_match(meta.get("labels") or {})

    return match
