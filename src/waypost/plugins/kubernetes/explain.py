"""What the kubernetes plugin notes of a query while it is explained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from waypost.cluster.explain import Finding, explain, explain_address
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.reverse import is_reverse
from waypost.dispatch.request import Request
from waypost.dispatch.trace import ANSWERED, PASSED
from waypost.wire import addr, consts, names
from waypost.wire.query import Query

PLUGIN = "kubernetes"
_TRANSFERS = (consts.TYPE_AXFR, consts.TYPE_IXFR)
_ADDRESSES = (consts.TYPE_A, consts.TYPE_AAAA)
_ALWAYS = ("Namespace", "Service")


class Known(NamedTuple):
    """A zone and what is known of its cluster: `versions` are the resourceVersions of the kinds that are followed."""

    zone: bytes
    ns_dns: bytes
    cluster: Index
    policy: Policy
    versions: Mapping[str, int]


def note_zone_missing(request: Request, zones: tuple[bytes, ...]) -> None:
    """The name is in no zone of ours."""
    request.note(PLUGIN, f"serves {' '.join(map(names.to_text, zones))} only, and not this name", PASSED)


def note_answer(request: Request, known: Known, *, falls: bool) -> None:
    """What stands behind the answer; `falls` says whether missing names go to the next plugin."""
    finding = _finding(request.query, known)
    version = _version(known, finding)
    zone = names.to_text(known.zone)
    if not finding.exists and not known.cluster.known:
        text = f"zone {zone}: the cluster was not read yet, so nobody can say that the name does not exist"
        request.note(PLUGIN, text, ANSWERED, version=version)
    elif not finding.exists and falls:
        text = f"{finding.text}; the name falls through (fallthrough)"
        request.note(PLUGIN, text, PASSED, *finding.objects, version=version)
    else:
        request.note(PLUGIN, finding.text, ANSWERED, *finding.objects, version=version)


def _finding(query: Query, known: Known) -> Finding:
    name, qtype = query.name, query.qtype
    if qtype in _TRANSFERS:
        return Finding("zone transfers are the business of 'transfer', which the block lacks or which let it pass")
    if qtype == consts.TYPE_SOA:
        text = "the zone's SOA" if name == known.zone else "SOA exists for the zone itself only"
        return Finding(text, exists=True)
    if qtype == consts.TYPE_NS and name == known.zone:
        return Finding("the Services in front of this server are the zone's name servers", exists=True)
    if name == known.ns_dns and qtype not in (consts.TYPE_TXT, consts.TYPE_PTR):
        return Finding("the name of the zone's name servers", exists=True)
    packed = addr.from_reverse_name(name) if qtype == consts.TYPE_PTR else None
    if packed is not None:
        return explain_address(known.cluster, known.policy, packed)
    if is_reverse(known.zone):
        return Finding("reverse names are those of whole addresses, and have PTR records only")
    return explain(known.cluster, known.policy, known.zone, name, qtype)


def _version(known: Known, finding: Finding) -> str:
    """The state of the cluster that counted: resourceVersions of the kinds concerned, and the zone's serial."""
    kinds = dict.fromkeys((*_ALWAYS, *(each.split(" ", 1)[0] for each in finding.objects)))
    parts = [f"{kind}s at resourceVersion {known.versions[kind]}" for kind in kinds if kind in known.versions]
    origin = "" if known.cluster.synced else ", from a snapshot" if known.cluster.restored else ", incomplete"
    return ", ".join([*parts, f"serial {known.cluster.serial}{origin}"])
