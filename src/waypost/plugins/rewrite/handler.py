"""What rewrite does with a query."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, CHANGED
from waypost.plugins.rewrite.asked import Asked, Revert, Rule, with_opt
from waypost.plugins.rewrite.options import OptionRule
from waypost.wire import consts, names
from waypost.wire.errors import BadName
from waypost.wire.query import Query
from waypost.wire.reply import failure


class Step(NamedTuple):
    """A rule, and whether the ones behind it are left out once it fits."""

    rule: Rule
    stop: bool = True


class Rewrite:
    """The rules change the question in order, and the reply in the reverse order.

    The server puts the client's own question into the reply.
    """

    __slots__ = ("_codes", "_steps", "name", "next")

    next: Handler

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.name = "rewrite"
        self._steps = steps
        self._codes = frozenset(step.rule.code for step in steps if isinstance(step.rule, OptionRule))

    def serve(self, request: Request) -> Outcome:
        """The next one's reply to the changed question; SERVFAIL if no valid name came out."""
        asked = Asked(request)
        reverts: list[Revert] = []
        for rule, stop in self._steps:
            try:
                found = rule.apply(asked)
            except BadName as exc:
                request.note(self.name, f"no valid name came out: {exc}", ANSWERED)
                return failure(consts.SERVFAIL, f"invalid name after rewrite: {exc}")
            if found is not None:
                reverts += found
                if stop:
                    break
        child = asked.child()
        if request.trace is not None and child is not request:
            request.note(self.name, f"{_shown(request.query)} -> {_shown(child.query)}", CHANGED)
        if reverts:
            request.note(self.name, "the reply will be changed too")
        outcome = self.next.serve(child)
        if asked.opt is not None and asked.opt is not request.query.opt:
            outcome = then(outcome, partial(with_opt, sent=asked.opt, codes=self._codes))
        for revert in reversed(reverts):
            outcome = then(outcome, revert)
        return outcome


def _shown(query: Query) -> str:
    """A question as it stands in a note."""
    text = f"{names.to_text(query.qname)} {consts.type_text(query.qtype)}"
    return text if query.qclass == consts.CLASS_IN else f"{text} {consts.class_text(query.qclass)}"
