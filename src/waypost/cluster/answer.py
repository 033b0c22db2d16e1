"""The Kubernetes DNS specification: question x index -> records. Pure, and in one order for the same data.

The table it follows, for a name left of the zone (everything is authoritative, `ttl` from the policy):

    exists, data of the type      the records
    exists, none of the type      NODATA
    exists without any data       NODATA, but NXDOMAIN for TXT (the zone, `svc`, a namespace)
    does not exist                NXDOMAIN, but NODATA for SOA
    ExternalName                  CNAME, and what it leads to for A and AAAA

Names in answers keep the spelling of the question: owner and zone are cut from it.
"""

from __future__ import annotations

from typing import NamedTuple

from waypost.cluster.find import Items, find, pod_address
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.question import POD, Question, parse
from waypost.wire import consts, names
from waypost.wire.record import Record, Records, address, cname, srv, txt

DNS_VERSION = b"1.1.0"
DNS_VERSION_LABEL = b"\x0bdns-version"
_DNS_VERSION_TTL = 28800
_MAX_CHAIN = 10
_ADDRESS_SIZES = {consts.TYPE_A: 4, consts.TYPE_AAAA: 16}
_NO_DEPENDENCIES: tuple[bytes, ...] = ()


class Result(NamedTuple):
    """What the cluster knows. `exists` False is NXDOMAIN, an empty answer NODATA.

    `chase` are names outside the zone whose addresses of the asked type belong behind the answer. `depends` are index
    keys: a change of one may change the result.
    """

    exists: bool
    answer: Records = ()
    additional: Records = ()
    chase: tuple[bytes, ...] = ()
    depends: tuple[bytes, ...] = _NO_DEPENDENCIES


MISSING = Result(False)
NODATA = Result(True)


def answer(index: Index, policy: Policy, zone: bytes, qname: bytes, qtype: int) -> Result:
    """The result for a name within `zone`; qname as sent, zone in lower case, both wire form.

    SOA, NS and reverse names are not looked at here.
    """
    prefix = qname[: len(qname) - len(zone)].lower()
    if prefix == DNS_VERSION_LABEL and qtype == consts.TYPE_TXT:
        return Result(True, (txt(qname, _DNS_VERSION_TTL, DNS_VERSION),))
    question = parse(prefix, imported=policy.imported, zonal=policy.zonal)
    if question is None:
        return MISSING
    depends = _dependency(question)
    items = find(index, policy, question)
    if items is None:
        return Result(False, depends=depends)
    if qtype in _ADDRESS_SIZES:
        return _addresses(index, policy, zone, qname, qtype, items, depends, frozenset())
    if qtype == consts.TYPE_SRV:
        spelled = qname[len(qname) - len(zone) :]
        records, glue = _services(qname, policy.ttl, items, spelled)
        return Result(True, records, glue, depends=depends)
    if qtype == consts.TYPE_CNAME and items and items[0].host:
        return Result(True, (cname(qname, policy.ttl, items[0].host),), depends=depends)
    return Result(bool(items) or bool(question.zone) or qtype != consts.TYPE_TXT, depends=depends)


def _dependency(question: Question) -> tuple[bytes, ...]:
    """The Service or the pod's address that a name depends on, whether it is there or not yet."""
    if question.kind != POD:
        return (question.key,) if question.key else _NO_DEPENDENCIES
    packed = pod_address(question.service)
    return (packed,) if packed is not None else _NO_DEPENDENCIES


def _addresses(
    index: Index,
    policy: Policy,
    zone: bytes,
    owner: bytes,
    qtype: int,
    items: Items,
    depends: tuple[bytes, ...],
    chain: frozenset[bytes],
) -> Result:
    size = _ADDRESS_SIZES[qtype]
    ttl = policy.ttl
    unique = dict.fromkeys(item.packed for item in items if len(item.packed) == size)
    records = tuple(address(owner, ttl, packed) for packed in unique)
    chase: tuple[bytes, ...] = ()
    for target in dict.fromkeys(item.host for item in items if item.host):
        if names.is_within(target, owner.lower()) or target in chain or len(chain) > _MAX_CHAIN:
            continue
        if not names.is_within(target, zone):
            records += (cname(owner, ttl, target),)
            chase += (target,)
            continue
        inner = _within_zone(index, policy, zone, target, qtype, chain | {owner.lower()})
        depends += inner.depends
        chase += inner.chase
        if inner.answer:
            records += (cname(owner, ttl, target), *inner.answer)
    return Result(True, records, chase=chase, depends=depends)


def _within_zone(
    index: Index, policy: Policy, zone: bytes, target: bytes, qtype: int, chain: frozenset[bytes]
) -> Result:
    """What an ExternalName that points back into the zone leads to."""
    question = parse(target[: len(target) - len(zone)])
    if question is None:
        return MISSING
    depends = _dependency(question)
    items = find(index, policy, question)
    if not items:
        return Result(items is not None, depends=depends)
    return _addresses(index, policy, zone, target, qtype, items, depends, chain)


def _services(owner: bytes, ttl: int, items: Items, zone: bytes) -> tuple[Records, Records]:
    """SRV records and the addresses of their targets. The weight shares 100 over all items before duplicates go."""
    weight = max(1, 100 // len(items)) if items else 0
    records: dict[tuple[bytes, int], Record] = {}
    glue: dict[tuple[bytes, bytes], Record] = {}
    for packed, host, port, prefix in items:
        target = prefix + zone
        if port < 0 or host or len(target) > names.MAX_NAME:
            continue
        records.setdefault((prefix, port), srv(owner, ttl, 0, weight, port, target))
        glue.setdefault((prefix, packed), address(target, ttl, packed))
    return tuple(records.values()), tuple(glue.values())
