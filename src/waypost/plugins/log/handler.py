"""A line for each query that a rule wants, once its reply is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.toolkit.classify import classify
from waypost.toolkit.replacer import Format
from waypost.wire import names
from waypost.wire.reply import Reply


class Rule(NamedTuple):
    """Zone in wire form and lower case, the line, and the classes wanted (empty: all)."""

    zone: bytes
    fill: Format
    classes: frozenset[str]


class Log:
    """Logs what the client gets; the reply goes on unchanged."""

    __slots__ = ("_add", "_rules", "cuts", "name", "next")

    transparent = True
    next: Handler

    def __init__(self, rules: Sequence[Rule], add: Callable[[str], None]) -> None:
        self.name = "log"
        self._rules = rules
        self._add = add
        self.cuts = tuple(rule.zone for rule in rules)

    def serve(self, request: Request) -> Outcome:
        """The next plugin's reply. The first rule whose zone holds the name decides, even to log nothing."""
        rule = self._rule(request.query.name)
        if rule is None or request.trace is not None:  # what is explained is nobody's query
            return self.next.serve(request)
        started = time.perf_counter()
        outcome = self.next.serve(request)
        if isinstance(outcome, Reply):
            return self._logged(rule, request, outcome, started)
        return then(outcome, lambda reply: self._logged(rule, request, reply, started))

    def _rule(self, name: bytes) -> Rule | None:
        for rule in self._rules:
            if rule.zone == names.ROOT or names.is_within(name, rule.zone):
                return rule
        return None

    def _logged(self, rule: Rule, request: Request, reply: Reply, started: float) -> Reply:
        seconds = time.perf_counter() - started
        if rule.classes or request.metadata is not None:
            kind = classify(request.query, reply)
            if request.metadata is not None:
                request.metadata["log/class"] = lambda: kind.group
                request.metadata["log/type"] = lambda: kind.name
            if rule.classes and kind.group not in rule.classes:
                return reply
        self._add(rule.fill(request, reply, seconds))
        if request.retold is not None:
            request.retold.append(rule.fill.again(request, reply, self._add))
        return reply
