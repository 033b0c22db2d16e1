"""What a zone has to say to a question: RFC 1034 section 4.3.2, with wildcards (RFC 4592), DNAME (RFC 6672) and the
records that prove it to a validator (RFC 4035 section 3.1). Pure: a zone and a question in, records out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from waypost.toolkit.zonedata import Node, Zone, signatures, signed_set
from waypost.wire import consts, names
from waypost.wire.rdata import name_end
from waypost.wire.record import Record, Records, cname
from waypost.wire.reply import Reply

YXDOMAIN = 6
_WILDCARD = b"\x01*"
# As many CNAMEs as CoreDNS follows inside a zone.
_MAX_CHAIN = 10
# Where the name stands whose addresses are worth adding.
_TARGETS = {
    consts.TYPE_NS: 0,
    consts.TYPE_MX: 2,
    consts.TYPE_SRV: 6,
    consts.TYPE_SVCB: 2,
    consts.TYPE_HTTPS: 2,
}
_ADDRESSES = (consts.TYPE_A, consts.TYPE_AAAA)
_APEX_COVERED = frozenset(rtype.to_bytes(2, "big") for rtype in (consts.TYPE_SOA, consts.TYPE_NS))


@dataclass(frozen=True, slots=True)
class Found:
    """An answer from a zone, or as much of it as the zone knows.

    `referral`: the name belongs to a zone below, so the answer is not authoritative. `chase`: the CNAME target that
    must be looked up elsewhere to complete the answer. `wildcard`: the wildcard that it was made from. `vacant`: there
    is nothing at the name, so it may fall through to another plugin.
    """

    rcode: int = consts.NOERROR
    answer: Records = ()
    authority: Records = ()
    additional: Records = ()
    referral: bool = False
    chase: bytes = b""
    wildcard: bytes = b""
    vacant: bool = False


def look_up(zone: Zone, name: bytes, qtype: int, *, dnssec: bool = False) -> Found:
    """What the zone knows of a lower-case name that lies within it; with DNSSEC records if asked for."""
    cut = _topmost_cut(zone, name, qtype) if zone.cuts else None
    if cut is not None and _delegates(zone, cut):
        # DS in a zone without signatures too: a plugin in front may sign it on its way.
        return _refer(zone, cut, dnssec)
    dnssec = dnssec and zone.signed
    if cut is not None:
        return _redirect(zone, cut, name, qtype, dnssec)
    node = zone.nodes.get(name)
    if node:
        return _at_node(zone, node, name, qtype, dnssec)
    # RFC 4592 lets no wildcard speak for an empty non-terminal; CoreDNS does, and unsigned zones may rely on it.
    if node is None or not zone.signed:
        source = _wildcard_for(zone, name)
        if source is not None and source != name:
            return _from_wildcard(zone, source, name, qtype, dnssec)
    if node is not None:
        return replace(_no_data(zone, zone.denial(name) if dnssec else (), dnssec), vacant=True)
    return Found(consts.NXDOMAIN, authority=_no_such_name(zone, name, dnssec), vacant=True)


def complete(zone: Zone, found: Found, target: Reply, *, dnssec: bool = False) -> Found:
    """A found answer with what its CNAME target was looked up to be.

    The target's rcode is kept if it is NXDOMAIN or SERVFAIL; any other failure leaves the CNAME alone.
    """
    known = set(found.answer)
    answer = found.answer + tuple(record for record in target.answer if record not in known)
    rcode = target.rcode if target.rcode in (consts.NXDOMAIN, consts.SERVFAIL) else consts.NOERROR
    authority = found.authority
    additional = glue(zone, (record for record in answer if record.rtype != consts.TYPE_NS), dnssec=dnssec)
    if target.rcode == consts.NXDOMAIN or (target.rcode == consts.NOERROR and not target.answer):
        if _is_referral(target) and names.is_within(found.chase, zone.origin):
            authority, additional = target.authority, target.additional
        else:
            proof = authority[len(name_servers(zone, dnssec=dnssec)) :]
            authority = start_of_authority(zone, dnssec=dnssec) + proof
    return replace(found, rcode=rcode, answer=answer, authority=authority, additional=additional, chase=b"")


def name_servers(zone: Zone, *, dnssec: bool = False) -> Records:
    """The NS records of the apex: the authority section of answers."""
    return _rrset(zone.apex, consts.TYPE_NS, dnssec and zone.signed)


def start_of_authority(zone: Zone, *, dnssec: bool = False) -> Records:
    """The SOA: the authority section of denials (RFC 2308 section 2)."""
    return _rrset(zone.apex, consts.TYPE_SOA, dnssec and zone.signed)


def glue(zone: Zone, records: Iterable[Record], *, dnssec: bool = False, below: bytes = b"") -> Records:
    """The addresses that the zone has for the hosts that these records name, each once.

    `below` keeps those at or under one name, which is what a referral needs.
    """
    hosts: dict[bytes, None] = {}
    for record in records:
        start = _TARGETS.get(record.rtype)
        if start is not None:
            hosts[record.rdata[start : name_end(record.rdata, start)].lower()] = None
    if not hosts:
        return ()
    dnssec = dnssec and zone.signed
    out: list[Record] = []
    for host in hosts:
        node = zone.nodes.get(host)
        if node and (not below or names.is_within(host, below)):
            for rtype in _ADDRESSES:
                out += _rrset(node, rtype, dnssec)
    return tuple(out)


def _topmost_cut(zone: Zone, name: bytes, qtype: int) -> bytes | None:
    """The cut nearest to the apex on the way to the name. DS stands above its cut, DNAME redirects what is below."""
    found = None
    for suffix in names.suffixes(name):
        if suffix in zone.cuts and (suffix != name or (qtype != consts.TYPE_DS and _delegates(zone, suffix))):
            found = suffix
        if suffix == zone.origin:
            break
    return found


def _delegates(zone: Zone, name: bytes) -> bool:
    return consts.TYPE_NS in zone.nodes[name] and name != zone.origin


def _refer(zone: Zone, cut: bytes, dnssec: bool) -> Found:
    servers = zone.nodes[cut][consts.TYPE_NS]
    proof = signed_set(zone.nodes[cut], consts.TYPE_DS) if dnssec else ()
    return Found(authority=servers + proof, additional=glue(zone, servers, below=cut), referral=True)


def _redirect(zone: Zone, cut: bytes, name: bytes, qtype: int, dnssec: bool) -> Found:
    """A DNAME above the name: itself, and the CNAME that it means for this name."""
    records = _rrset(zone.nodes[cut], consts.TYPE_DNAME, dnssec)
    dname = records[0]
    prefix = names.relative(name, cut)
    if len(prefix) + len(dname.rdata) > names.MAX_NAME:
        return Found(YXDOMAIN, records, name_servers(zone, dnssec=dnssec))
    alias = cname(name, dname.ttl, prefix + dname.rdata)
    return _follow(zone, (*records, alias), alias, qtype, dnssec)


def _at_node(zone: Zone, node: Node, name: bytes, qtype: int, dnssec: bool) -> Found:
    records = _rrset(node, qtype, dnssec)
    if records:
        apex = name == zone.origin
        if apex and qtype == consts.TYPE_RRSIG:  # CoreDNS shows those of SOA and NS only beside what they sign
            records = tuple(record for record in records if record.rdata[:2] not in _APEX_COVERED)
        authority = () if apex and qtype == consts.TYPE_NS else name_servers(zone, dnssec=dnssec)
        return Found(answer=records, authority=authority, additional=glue(zone, records, dnssec=dnssec))
    if consts.TYPE_CNAME in node:
        aliases = _alias(node, dnssec)
        return _follow(zone, aliases, aliases[0], qtype, dnssec)
    proof = signed_set(node, consts.TYPE_NSEC) if dnssec else ()
    return replace(_no_data(zone, proof, dnssec), vacant=name == zone.origin)


def _from_wildcard(zone: Zone, source: bytes, name: bytes, qtype: int, dnssec: bool) -> Found:
    """The wildcard's records under the name asked for, with proof that the name itself is not there."""
    node = {
        rtype: tuple(record._replace(owner=name) for record in records) for rtype, records in zone.nodes[source].items()
    }
    proof = zone.denial(name) if dnssec else ()
    records = _rrset(node, qtype, dnssec)
    if records:
        authority = name_servers(zone, dnssec=dnssec) + proof
        found = Found(answer=records, authority=authority, additional=glue(zone, records, dnssec=dnssec))
    elif consts.TYPE_CNAME in node:
        aliases = _alias(node, dnssec)
        found = _follow(zone, aliases, aliases[0], qtype, dnssec)
        found = replace(found, authority=found.authority + proof)
    else:
        own = signed_set(zone.nodes[source], consts.TYPE_NSEC) if dnssec else ()
        found = _no_data(zone, _once(own + proof), dnssec)
    return replace(found, wildcard=source)


def _follow(zone: Zone, answer: Records, alias: Record, qtype: int, dnssec: bool) -> Found:
    """The rest of a CNAME chain, as far as it runs over names of the zone; a loop ends where it closes."""
    seen = {alias.owner.lower()}
    chase = b""
    out = list(answer)
    while len(seen) < _MAX_CHAIN:
        target = alias.rdata.lower()
        if target in seen or qtype == consts.TYPE_CNAME:
            break
        node = _plain_node(zone, target)
        if node is None:
            chase = target
            break
        records = _rrset(node, qtype, dnssec)
        if records or consts.TYPE_CNAME not in node:
            out += records
            break
        seen.add(target)
        aliases = _alias(node, dnssec)
        out += aliases
        alias = aliases[0]
    return Found(
        answer=tuple(out),
        authority=name_servers(zone, dnssec=dnssec),
        additional=glue(zone, out, dnssec=dnssec),
        chase=chase,
    )


def _plain_node(zone: Zone, name: bytes) -> Node | None:
    """A name that answers from its own records: no apex, nothing below a cut, no wildcard, no empty non-terminal.

    Everything else is asked of the server, where another block or plugin may know better.
    """
    node = zone.nodes.get(name)
    if not node or name == zone.origin:
        return None
    return None if zone.cuts and _topmost_cut(zone, name, consts.TYPE_CNAME) is not None else node


def _is_referral(reply: Reply) -> bool:
    return not reply.flags & consts.AA and any(record.rtype == consts.TYPE_NS for record in reply.authority)


def _wildcard_for(zone: Zone, name: bytes) -> bytes | None:
    """The wildcard right below the closest encloser, if it exists (RFC 4592 section 3.3.1)."""
    encloser = name
    while encloser != zone.origin:
        encloser = names.parent(encloser)
        if encloser in zone.nodes:
            source = _WILDCARD + encloser
            return source if source in zone.nodes else None
    return None


def _no_data(zone: Zone, proof: Records, dnssec: bool) -> Found:
    return Found(authority=start_of_authority(zone, dnssec=dnssec) + proof)


def _no_such_name(zone: Zone, name: bytes, dnssec: bool) -> Records:
    """The SOA, and NSEC records to show that neither the name nor a wildcard for it is there."""
    soa = start_of_authority(zone, dnssec=dnssec)
    if not dnssec:
        return soa
    encloser = name
    while encloser not in zone.nodes:
        encloser = names.parent(encloser)
    wildcard = _WILDCARD + encloser
    return soa + _once(zone.denial(name) + zone.denial(wildcard))


def _alias(node: Node, dnssec: bool) -> Records:
    """The CNAME record of a name; if there are several, which RFC 2181 section 10.1 forbids, the first."""
    first = node[consts.TYPE_CNAME][:1]
    return first + signatures(node, consts.TYPE_CNAME) if dnssec else first


def _rrset(node: Node, rtype: int, dnssec: bool) -> Records:
    if dnssec and rtype != consts.TYPE_RRSIG:
        return signed_set(node, rtype)
    return node.get(rtype, ())


def _once(records: Records) -> Records:
    return tuple(dict.fromkeys(records))
