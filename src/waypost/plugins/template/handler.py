"""Queries to answers by the rules of a block."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from waypost.dispatch.handler import Handler, Outcome, then
from waypost.dispatch.request import Request
from waypost.dispatch.site import Site
from waypost.dispatch.trace import ANSWERED
from waypost.plugins.template.data import Data
from waypost.plugins.template.rrtext import RecordReader
from waypost.plugins.template.rule import Rule
from waypost.toolkit.gotemplate.errors import TemplateError
from waypost.toolkit.gotemplate.template import Template
from waypost.toolkit.zonelist import ZoneList, zones_of
from waypost.wire import consts, names
from waypost.wire.edns import DO, Opt
from waypost.wire.record import Record, Records
from waypost.wire.reply import Reply, authoritative, failure

_CHASED: Final = (consts.TYPE_A, consts.TYPE_AAAA)
_EDE_SIZE: Final = 4096
_LABELS: Final = ("server", "zone", "view", "class", "type")
_FAILURE_LABELS: Final = (*_LABELS, "section", "template")


class _Failed(Exception):
    """A record could not be made; the text is for the log."""


class TemplateHandler:
    """The first rule whose zone, class, type and pattern fit makes the answer."""

    __slots__ = ("_bad_records", "_failures", "_matches", "_reader", "_rules", "_site", "name", "next")

    next: Handler

    def __init__(self, rules: Iterable[Rule], site: Site) -> None:
        self.name = "template"
        self._rules: tuple[tuple[ZoneList, Rule], ...] = tuple(
            (zones_of(rule.zones, site.zones), rule) for rule in rules
        )
        self._site = site
        self._reader = RecordReader()
        self._matches = site.metrics.counter(
            "coredns_template_matches_total", "Counter of template regex matches.", _LABELS
        )
        self._failures = site.metrics.counter(
            "coredns_template_template_failures_total", "Counter of go template failures.", _FAILURE_LABELS
        )
        self._bad_records = site.metrics.counter(
            "coredns_template_rr_failures_total", "Counter of mis-templated RRs.", _FAILURE_LABELS
        )

    def serve(self, request: Request) -> Outcome:
        """A rule whose patterns all fail ends the search with SERVFAIL, unless it lets the name fall through."""
        query = request.query
        text = ""
        for zones, rule in self._rules:
            zone = zones.match(query.name)
            if zone is None or not rule.takes(query):
                continue
            text = text or names.to_text(query.name)
            data = _matched(request, rule, zone, text)
            if data is not None:
                return self._answer(request, rule, data)
            if not rule.fall.covers(query.name):
                request.note(self.name, "no pattern for this zone matches, and nothing falls through", ANSWERED)
                return failure(consts.SERVFAIL)
        return self.next.serve(request)

    def _answer(self, request: Request, rule: Rule, data: Data) -> Outcome:
        labels = (request.server.label, data.zone, self._site.view, data.class_text, data.type_text)
        self._matches.labels(*labels).inc()
        if request.trace is not None:
            request.note(self.name, f"the name matches {data.pattern}", ANSWERED)
        if rule.rcode == consts.SERVFAIL:
            return failure(consts.SERVFAIL)
        try:
            answer = self._records("answer", rule.answer, data, labels)
            additional = self._records("additional", rule.additional, data, labels)
            authority = self._records("authority", rule.authority, data, labels)
        except _Failed as exc:
            return failure(consts.SERVFAIL, str(exc))
        reply = authoritative(request.query, answer, authority, additional, rule.rcode)
        if rule.extended_error is not None:
            reply = reply.replace(opt=Opt(_EDE_SIZE, 0, DO, (rule.extended_error,)))
        return _chased(request, reply, (), answer) if request.query.qtype in _CHASED else reply

    def _records(self, section: str, templates: tuple[Template, ...], data: Data, labels: tuple[str, ...]) -> Records:
        records: list[Record] = []
        for template in templates:
            try:
                record = self._reader.read(template.render(data))
            except TemplateError as exc:
                self._failures.labels(*labels, section, template.text).inc()
                raise _Failed(str(exc)) from exc
            except ValueError as exc:
                self._bad_records.labels(*labels, section, template.text).inc()
                raise _Failed(f"dns: {exc}") from exc
            if record is not None:
                records.append(record)
        return tuple(records)


def _matched(request: Request, rule: Rule, zone: bytes, name: str) -> Data | None:
    for pattern in rule.patterns:
        found = pattern.compiled.search(name)
        if found is not None:
            return Data(request, zone, pattern.text, found, rule.qclass, rule.qtype)
    return None


def _chased(request: Request, reply: Reply, done: Records, rest: Records) -> Outcome:
    """Put behind each CNAME of `rest` what the server answers for its target."""
    for n, record in enumerate(rest):
        if record.rtype == consts.TYPE_CNAME:
            before, after = (*done, *rest[: n + 1]), rest[n + 1 :]

            def joined(found: Reply, before: Records = before, after: Records = after) -> Outcome:
                flags = reply.flags | found.flags & consts.TC
                return _chased(request, reply.replace(flags=flags), (*before, *found.answer), after)

            return then(request.lookup(record.rdata, request.query.qtype), joined)
    return reply.replace(answer=(*done, *rest)) if done else reply
