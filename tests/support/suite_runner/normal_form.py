"""Replies as plain values that compare: sorted lists of record texts, names of flags and codes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

Json = dict[str, Any]

SECTIONS = ("answer", "authority", "additional")
NO_REPLY = ("timeout", "error")
_SOA = re.compile(r"^(\S+ \d+ SOA \S+ \S+) \S+ ")
_RRSIG = re.compile(r"^(\S+ \d+ RRSIG \S+ \S+ \S+ \S+) \S+ \S+ (\S+ \S+) .*$")


class Difference(NamedTuple):
    """One field that is not as expected."""

    field: str
    expected: Any
    actual: Any


def normal_form(reply: dns.message.Message) -> Json:
    """Every field of a reply that a suite may name."""
    form: Json = {
        "rcode": dns.rcode.to_text(reply.rcode()),
        "flags": dns.flags.to_text(reply.flags).split(),
        "answer": _records(reply.answer),
        "authority": _records(reply.authority),
        "additional": _records(reply.additional),
        "edns": _edns(reply),
        "question": [question_text(q) for q in reply.question],
    }
    if reply.opcode() != dns.opcode.QUERY:
        form["opcode"] = dns.opcode.to_text(reply.opcode())
    return form


def question_text(question: dns.rrset.RRset) -> str:
    """`name class type`."""
    rdclass, rdtype = dns.rdataclass.to_text(question.rdclass), dns.rdatatype.to_text(question.rdtype)
    return f"{question.name.to_text()} {rdclass} {rdtype}"


def differences(expected: Json, actual: Json, compare: Iterable[str] = (), question: str = "") -> list[Difference]:
    """The fields of `expected`, or only those of `compare`, that `actual` does not have the same way.

    `question` is the one asked, which must come back unless `expected` has its own.
    """
    for field in NO_REPLY:
        if expected.get(field) != actual.get(field):
            outcomes = [form.get(field) or form.get("rcode") or _no_reply(form) for form in (expected, actual)]
            return [Difference(field, *outcomes)]
    if _no_reply(expected):
        return []
    fields = list(compare) or list(expected)
    if question and not compare and "question" not in expected:
        expected = {**expected, "question": [question]}
        fields.append("question")
    found = []
    for field in fields:
        wanted, got = expected.get(field), actual.get(field)
        if field in SECTIONS and wanted is not None and got is not None:
            got = _mask(got, wanted)
        if isinstance(wanted, list) and isinstance(got, list):
            wanted, got = sorted(wanted), sorted(got)
        if wanted != got:
            found.append(Difference(field, wanted, got))
    return found


def _no_reply(form: Json) -> Any:
    return next((form[field] for field in NO_REPLY if form.get(field)), None)


def _records(section: list[dns.rrset.RRset]) -> list[str]:
    texts = []
    for rrset in section:
        kind = dns.rdatatype.to_text(rrset.rdtype)
        if rrset.rdclass != dns.rdataclass.IN:
            kind = f"{dns.rdataclass.to_text(rrset.rdclass)} {kind}"
        texts += [f"{rrset.name.to_text()} {rrset.ttl} {kind} {rdata.to_text()}" for rdata in rrset]
    return sorted(texts)


def _edns(reply: dns.message.Message) -> Json | None:
    if reply.edns < 0:
        return None
    form: Json = {
        "udp": reply.payload,
        "do": bool(reply.ednsflags & dns.flags.DO),
        "opts": sorted(int(option.otype) for option in reply.options),
    }
    if reply.edns > 0:
        form["version"] = reply.edns
    if reply.options:
        form["optdata"] = {str(int(option.otype)): (option.to_wire() or b"").hex() for option in reply.options}
    return form


def _mask(records: list[str], expected: list[str]) -> list[str]:
    if any(" SERIAL " in record for record in expected):
        records = [_SOA.sub(r"\1 SERIAL ", record) for record in records]
    if any(" MASKED" in record for record in expected):
        records = [_RRSIG.sub(r"\1 MASKED MASKED \2 MASKED", record) for record in records]
    return records
