"""Services as they are reached from outside: question x index -> records, and the whole zone (k8s_external plugin).

    NAMESPACE.ZONE                              exists, without data
    SERVICE.NAMESPACE.ZONE                      external addresses, and a CNAME for each host name of a load balancer
    LABEL.SERVICE.NAMESPACE.ZONE                the same, whatever the label
    PORT.PROTOCOL.SERVICE.NAMESPACE.ZONE        the same if the Service has such a port

A Service without external addresses does not exist here; with `headless` its endpoints do, at the third form (and a
headless Service's at every form). Addresses have the plugin's TTL, CNAME and SRV records the cluster's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from waypost.cluster.answer import MISSING, NODATA, Result
from waypost.cluster.entries import HEADLESS, ServiceEntry, key_namespace
from waypost.cluster.find import Item, endpoint_items, exposes, matching
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.question import Question, strip_underscore
from waypost.cluster.transfer import port_owner, services_by_name
from waypost.wire import consts
from waypost.wire.names import MAX_NAME, labels
from waypost.wire.record import Record, address, cname, ns, ptr, srv

_ADDRESS_SIZES = {consts.TYPE_A: 4, consts.TYPE_AAAA: 16}
_WEIGHT = 100


@dataclass(frozen=True, slots=True)
class View:
    """What decides how a cluster looks from outside.

    `ttl` is that of addresses in seconds; `headless` shows endpoints of Services without external addresses.
    """

    index: Index
    policy: Policy
    ttl: int
    headless: bool = False


def zone_serial(view: View) -> int:
    """The Unix second of the last change that can be seen outside; 0: none yet."""
    index = view.index
    return max(index.serial, index.external_serial) if view.headless else index.external_serial


def answer(view: View, zone: bytes, qname: bytes, qtype: int) -> Result:
    """The result for a name below `zone`; qname as sent, zone in lower case, both wire form.

    `chase` are host names whose addresses belong behind the answer, for SRV into the additional section. Reverse names
    are not looked at here.
    """
    question = _parse(qname[: len(qname) - len(zone)].lower())
    if question is None or not exposes(view.index, view.policy, question.namespace):
        return MISSING
    if not question.key:
        return NODATA
    depends = (question.key,)
    items = list(_items(view, question, view.index.services.get(question.key)))
    if not items:
        return Result(False, depends=depends)
    if qtype in _ADDRESS_SIZES:
        size = _ADDRESS_SIZES[qtype]
        hosts = tuple(dict.fromkeys(item.host for item in items if item.host))
        records = [address(qname, view.ttl, packed) for packed in _addresses(items) if len(packed) == size]
        records += (cname(qname, view.policy.ttl, host) for host in hosts)
        return Result(True, tuple(records), chase=hosts, depends=depends)
    if qtype == consts.TYPE_SRV:
        return _service_records(view, zone, qname, items, depends)
    return Result(True, depends=depends)


def reverse(view: View, zone: bytes, qname: bytes, packed: bytes) -> Result:
    """PTR records to the names that an external address has in `zone`. Only `namespaces` hides names here."""
    shown = view.policy.namespaces
    targets = [
        key + zone
        for key in view.index.services_of_external(packed)
        if (shown is None or key_namespace(key) in shown) and len(key) + len(zone) <= MAX_NAME
    ]
    records = tuple(ptr(qname, view.ttl, target) for target in targets)
    return Result(bool(records), records, depends=(packed,))


def server_addresses(view: View, local: Sequence[bytes]) -> tuple[bytes, ...]:
    """Where this server is reached from outside: external addresses of the Services in front of its own addresses.

    The own addresses themselves if it is no endpoint of any Service.
    """
    index = view.index
    found: dict[bytes, None] = {}
    is_endpoint = False
    for packed in local:
        for key in index.endpoints.services_of(packed):
            is_endpoint = True
            entry = index.services.get(key)
            if entry is None:
                continue
            if view.headless and entry.kind == HEADLESS:
                found[packed] = None
            else:
                found.update(dict.fromkeys(entry.external.addresses))
    return tuple(found) if is_endpoint else tuple(local)


def zone_records(
    view: View, zone: bytes, soa: Record, name_server: bytes, local: Sequence[bytes] = ()
) -> Iterator[Record]:
    """Every record of a forward zone, `soa` first and last, in the order of a transfer.

    A host name is only given where a CNAME may stand: alone, so for a Service without addresses its first one.
    """
    yield soa
    yield ns(zone, view.ttl, name_server)
    yield from (address(name_server, view.ttl, packed) for packed in server_addresses(view, local))
    for key, entry in services_by_name(view.index):
        owner = key + zone
        if len(owner) <= MAX_NAME and exposes(view.index, view.policy, entry.namespace):
            yield from dict.fromkeys(_transferred(view, zone, owner, key, entry))
    yield soa


def _transferred(view: View, zone: bytes, owner: bytes, key: bytes, entry: ServiceEntry) -> Iterator[Record]:
    question = Question(b"", entry.namespace, key, key[1 : 1 + key[0]])
    items = list(_items(view, question, entry))
    for packed in _addresses(items):
        yield address(owner, view.ttl, packed)
    hosts = [item.host for item in items if item.host]
    if hosts and not _addresses(items):
        yield cname(owner, view.policy.ttl, hosts[0])
    else:
        result = _service_records(view, zone, owner, items, ())
        yield from result.answer
        yield from result.additional
    for number, name, protocol in _ports(view, key, entry):
        if named := port_owner(owner, (number, name, protocol)):
            wanted = question._replace(port=name, protocol=protocol, with_port=True)
            yield from _service_records(view, zone, named, list(_items(view, wanted, entry)), ()).answer


def _ports(view: View, key: bytes, entry: ServiceEntry) -> Iterable[tuple[int, bytes, bytes]]:
    """The ports under which a Service is known outside, each once."""
    if entry.external.addresses or entry.external.hosts:
        return entry.ports
    slices = view.index.endpoints.by_service.get(key, ())
    return dict.fromkeys(port for ports, _ in slices for port in ports)


def _parse(prefix: bytes) -> Question | None:
    """Labels left of the zone, lower case, to a question without a kind; None for more labels than mean anything."""
    parts = labels(prefix + b"\x00")
    if not 1 <= len(parts) <= 4:
        return None
    namespace = parts[-1]
    if len(parts) == 1:
        return Question(b"", namespace)
    key = prefix[-(len(parts[-2]) + len(namespace) + 2) :]
    question = Question(b"", namespace, key, parts[-2])
    if len(parts) == 3:
        return question._replace(endpoint=strip_underscore(parts[0]))
    if len(parts) == 4:
        port, protocol = strip_underscore(parts[0]), strip_underscore(parts[1])
        return question._replace(port=port, protocol=protocol, with_port=True)
    return question


def _items(view: View, question: Question, entry: ServiceEntry | None) -> Iterator[Item]:
    if entry is None:
        return
    addresses, hosts = entry.external
    if not addresses and not hosts:
        if view.headless and (question.endpoint or entry.kind == HEADLESS):
            slices = view.index.endpoints.by_service.get(question.key, ())
            yield from endpoint_items(slices, question, question.key)
        return
    for number in matching(entry.ports, question):
        yield from (Item(packed, b"", number, question.key) for packed in addresses)
        yield from (Item(b"", host, number, question.key) for host in hosts)


def _addresses(items: list[Item]) -> list[bytes]:
    return list(dict.fromkeys(item.packed for item in items if item.packed))


def _service_records(view: View, zone: bytes, owner: bytes, items: list[Item], depends: tuple[bytes, ...]) -> Result:
    """SRV records, the addresses of those targets that lie in the zone, and the names of those that do not.

    The weight shares 100 over all items before duplicates go.
    """
    weight = max(1, _WEIGHT // len(items)) if items else 0
    records: dict[Record, None] = {}
    glue: dict[Record, None] = {}
    hosts: dict[bytes, None] = {}
    for packed, host, port, prefix in items:
        target = host or prefix + zone
        if port < 0 or len(target) > MAX_NAME:
            continue
        records[srv(owner, view.policy.ttl, 0, weight, port, target)] = None
        if host:
            hosts[host] = None
        else:
            glue[address(target, view.ttl, packed)] = None
    return Result(True, tuple(records), tuple(glue), tuple(hosts), depends)
