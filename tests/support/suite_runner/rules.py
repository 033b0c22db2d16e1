"""How a suite's upstream answers: the first rule that matches a question makes the reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import dns.edns
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from support.suite_runner.normal_form import SECTIONS, Json

_UNKNOWN: Json = {"rcode": "REFUSED"}
_HEALTH_CHECK: Json = {"rcode": "NOERROR"}
_UDP_SIZE = 512


class Asked(NamedTuple):
    """A query as the upstream sees it; `proto` is udp or tcp."""

    message: dns.message.Message
    proto: str

    @property
    def name(self) -> dns.name.Name:
        return self.message.question[0].name

    @property
    def type(self) -> str:
        return dns.rdatatype.to_text(self.message.question[0].rdtype)

    @property
    def key(self) -> tuple[str, str, str]:
        return self.name.to_text().lower(), self.type, self.proto


class Rules:
    """The rules of one upstream and how often each was used."""

    def __init__(self, rules: Iterable[Json]) -> None:
        self.rules = list(rules)
        self.hits: Counter[int] = Counter()
        self.uses: Counter[tuple[int, str, str]] = Counter()

    def choose(self, asked: Asked) -> tuple[Json, int]:
        """The rule for a question, and how often it was used for this name and type by now."""
        name, kind, proto = asked.key
        for number, rule in enumerate(self.rules):
            if not _name_matches(rule.get("name", "*").lower(), name) or rule.get("type", "*") not in ("*", kind):
                continue
            if rule.get("proto", proto) != proto or self.hits[number] >= rule.get("times", float("inf")):
                continue
            self.hits[number] += 1
            self.uses[number, name, kind] += 1
            return rule, self.uses[number, name, kind]
        return (_HEALTH_CHECK if name == "." else _UNKNOWN), 1


def make_reply(asked: Asked, rule: Json, use: int) -> bytes:
    """The reply of a rule on the wire, truncated if it does not fit."""
    query = asked.message
    reply = dns.message.Message(id=query.id)
    reply.flags = _flags(query, rule)
    reply.set_opcode(query.opcode())
    question = _question(asked, rule)
    reply.question = [question]
    truncate = rule.get("tc") and asked.proto == "udp"
    if truncate:
        reply.flags |= dns.flags.TC
    if not truncate or rule.get("tc_keep"):
        words = {"{qname}": question.name.to_text(), "{qtype}": asked.type, "{n}": str(use)}
        for section in SECTIONS:
            getattr(reply, section).extend(_records(rule.get(section, ()), words))
        if rule.get("reflect"):
            text = " ".join(f'"{part}"' for part in _appearance(asked))
            reply.answer.extend(_records([f"{{qname}} {rule.get('ttl', 30)} IN TXT {text}"], words))
    if rule.get("edns", query.edns >= 0):
        options: list[dns.edns.Option] = [
            dns.edns.GenericOption(code, bytes.fromhex(data)) for code, data in rule.get("opts", ())
        ]
        flags = query.ednsflags & dns.flags.DO if query.edns >= 0 else 0
        reply.use_edns(0, ednsflags=flags, payload=rule.get("payload", 1232), options=options)
    reply.set_rcode(dns.rcode.from_text(rule.get("rcode", "NOERROR")))
    limit = max(_UDP_SIZE, query.payload if query.edns >= 0 else 0)
    wire = reply.to_wire(max_size=65535)
    if asked.proto == "udp" and len(wire) > limit and not rule.get("oversize"):
        reply.answer, reply.authority, reply.additional = [], [], []
        reply.flags |= dns.flags.TC
        wire = reply.to_wire(max_size=65535)
    return wire


def _name_matches(pattern: str, name: str) -> bool:
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))


def _flags(query: dns.message.Message, rule: Json) -> int:
    flags = dns.flags.QR | (query.flags & (dns.flags.RD | dns.flags.CD))
    for name, flag, default in (("ra", dns.flags.RA, True), ("aa", dns.flags.AA, False), ("ad", dns.flags.AD, False)):
        if rule.get(name, default):
            flags |= flag
    return flags


def _question(asked: Asked, rule: Json) -> dns.rrset.RRset:
    """The question of the reply, which a rule may falsify."""
    original = asked.message.question[0]
    name = original.name
    if rule.get("lower"):
        name = dns.name.from_text(name.to_text().lower())
    if "wrong_question" in rule:
        name = dns.name.from_text(rule["wrong_question"])
    rdtype = dns.rdatatype.from_text(rule["wrong_type"]) if "wrong_type" in rule else original.rdtype
    return dns.rrset.RRset(name, original.rdclass, rdtype)


def _records(lines: Iterable[str], words: dict[str, str]) -> list[dns.rrset.RRset]:
    """One set for each line, so that their order stays."""
    made = []
    for line in lines:
        for word, text in words.items():
            line = line.replace(word, text)
        owner, ttl, rdclass, rdtype, text = line.split(None, 4)
        rdata = dns.rdata.from_text(rdclass, rdtype, text)
        rrset = dns.rrset.RRset(dns.name.from_text(owner), rdata.rdclass, rdata.rdtype)
        rrset.add(rdata, int(ttl))
        made.append(rrset)
    return made


def _appearance(asked: Asked) -> list[str]:
    """What the query looked like, as `key=value`."""
    query = asked.message
    has_edns = query.edns >= 0
    options = ",".join(f"{int(option.otype)}:{(option.to_wire() or b'').hex()}" for option in query.options)
    return [
        f"qname={asked.name.to_text()}",
        f"proto={asked.proto}",
        f"rd={int(bool(query.flags & dns.flags.RD))}",
        f"cd={int(bool(query.flags & dns.flags.CD))}",
        f"ad={int(bool(query.flags & dns.flags.AD))}",
        f"edns={query.edns}",
        f"do={int(has_edns and bool(query.ednsflags & dns.flags.DO))}",
        f"bufsize={query.payload if has_edns else 0}",
        f"opts={options or '-'}",
        f"type={asked.type}",
        f"class={dns.rdataclass.to_text(query.question[0].rdclass)}",
    ]
