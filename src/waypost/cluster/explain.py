"""Why the cluster says what it says to a name: the objects behind an answer, or exactly what is missing. Pure.

It follows `cluster.find` step by step, in words. The objects are named as kubectl does: `Service shop/web`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from waypost.cluster.answer import DNS_VERSION_LABEL, answer
from waypost.cluster.entries import (
    CLUSTER_IP,
    EXTERNAL_NAME,
    HEADLESS,
    Ports,
    ServiceEntry,
    dashed,
    endpoint_label,
    key_namespace,
)
from waypost.cluster.find import exposes, find, matching, pod_address
from waypost.cluster.index import Index
from waypost.cluster.nearby import namespaces_with, services_in, similar
from waypost.cluster.policy import PODS_DISABLED, PODS_INSECURE, Policy
from waypost.cluster.question import POD, Question, parse
from waypost.cluster.reverse import names_of_address
from waypost.wire import addr, consts, names

_SHOWN = 5


class Finding(NamedTuple):
    """A sentence, the objects it is about, and whether the name exists."""

    text: str
    objects: tuple[str, ...] = ()
    exists: bool = False


def explain(index: Index, policy: Policy, zone: bytes, name: bytes, qtype: int) -> Finding:
    """The finding for a name within `zone`, both wire form and lower case."""
    prefix = name[: len(name) - len(zone)]
    if prefix == DNS_VERSION_LABEL and qtype == consts.TYPE_TXT:
        return Finding("the version of the Kubernetes DNS specification", exists=True)
    question = parse(prefix, imported=policy.imported, zonal=policy.zonal)
    if question is None:
        return Finding(_no_name(prefix))
    finding = _explain(index, policy, question)
    result = answer(index, policy, zone, name, qtype)
    if result.exists and not result.answer:
        finding = finding._replace(text=f"{finding.text}; there is no {consts.type_text(qtype)} record")
    return finding._replace(exists=result.exists)


def explain_address(index: Index, policy: Policy, packed: bytes) -> Finding:
    """The finding for a reverse name."""
    text = addr.unpack(packed)
    exists = bool(names_of_address(index, policy, packed))
    service = index.service_of_address(packed)
    services = (service,) if service is not None else index.endpoints.services_of(packed)
    objects = tuple(_object("Service", key) for key in services)
    if exists:
        role = "the cluster address" if service is not None else "the address of a ready endpoint"
        return Finding(f"{text} is {role} of {_listed(objects)}", objects, True)
    if services:
        return Finding(f"{text} belongs to {_listed(objects)}, which the 'namespaces' option hides", objects)
    pods = tuple(_object("Pod", key) for key in index.pods.get(packed, ()))
    if pods:
        return Finding(f"{text} belongs to {_listed(pods)}, but no Service has it: Pods have no reverse names", pods)
    return Finding(f"no Service and no ready endpoint has the address {text}")


def _no_name(prefix: bytes) -> str:
    labels = names.labels(prefix + names.ROOT)
    kind = _text(labels[-1])
    if labels[-1] not in (b"svc", b"pod"):
        return f"'{kind}' before the zone is neither svc nor pod, so it is no name of a Service or Pod"
    return f"a name of {len(labels)} labels before the zone means nothing in a cluster"


def _explain(index: Index, policy: Policy, question: Question) -> Finding:
    namespace = _text(question.namespace)
    if question.kind == POD and policy.pods == PODS_DISABLED:
        return Finding("names of Pods are off (pods disabled)")
    if not question.namespace:
        return Finding(f"'{_text(question.kind)}' stands above all namespaces" if question.kind else "the zone itself")
    if not exposes(index, policy, question.namespace):
        return Finding(_no_namespace(index, question))
    if not question.service:
        return Finding(f"namespace {namespace} exists, and has no data of its own", (f"Namespace {namespace}",))
    if question.kind == POD:
        return _pod(index, policy, question)
    entry = index.services.get(question.key)
    if entry is None:
        return Finding(_no_service(index, policy, question), (f"Namespace {namespace}",))
    return _service(index, policy, question, entry)


def _no_namespace(index: Index, question: Question) -> str:
    namespace = _text(question.namespace)
    if question.namespace in index.namespaces:
        return f"namespace {namespace} is not among those of the 'namespaces' option"
    text = f"namespace {namespace} does not exist"
    if question.service and (elsewhere := namespaces_with(index, question.service)):
        return f"{text}; {_elsewhere(question.service, elsewhere)}"
    close = similar(question.namespace, index.namespaces)
    return f"{text}; there is {_listed(close)}" if close else text


def _no_service(index: Index, policy: Policy, question: Question) -> str:
    kind = "imported Service" if policy.imported else "Service"
    text = f"namespace {_text(question.namespace)} has no {kind} {_text(question.service)}"
    if elsewhere := namespaces_with(index, question.service):
        return f"{text}; {_elsewhere(question.service, elsewhere)}"
    close = similar(question.service, services_in(index, question.namespace))
    return f"{text}; there is {_listed(close)}" if close else text


def _elsewhere(service: bytes, namespaces: list[str]) -> str:
    which = "namespace" if len(namespaces) == 1 else "namespaces"
    return f"a Service {_text(service)} exists in {which} {_listed(namespaces)}"


def _service(index: Index, policy: Policy, question: Question, entry: ServiceEntry) -> Finding:
    """A Service that exists: what it has for the rest of the name."""
    shown = _object("Service", question.key)
    slices = index.endpoints.by_service.get(question.key, ()) if policy.endpoints else ()
    if policy.ignore_empty_service and entry.kind == CLUSTER_IP and not any(endpoints for _, endpoints in slices):
        return Finding(f"{shown} has no ready endpoint, and 'ignore empty_service' hides it", (shown,))
    if question.zone and entry.kind != HEADLESS:
        return Finding(f"{shown} is not headless, and only headless ones have names by topology zone", (shown,))
    if entry.kind == EXTERNAL_NAME:
        return Finding(_external_name(question, entry, shown), (shown,))
    if policy.imported and question.endpoint and not question.cluster:
        return Finding("endpoints of imported Services are named by endpoint and cluster", (shown,))
    if entry.kind == HEADLESS or question.endpoint:
        return _endpoints(index, policy, question, entry)
    if not matching(entry.ports, question):
        return Finding(_no_port(entry.ports, question, shown), (shown,))
    addresses = " ".join(map(addr.unpack, entry.addresses)) or "that it is still waiting for"
    # DNS answers all the same: whoever connects finds nobody.
    dead = policy.endpoints and not any(endpoints for _, endpoints in slices)
    text = f"{shown} has the cluster address {addresses}{', but no ready endpoint' if dead else ''}"
    return Finding(text, (shown,))


def _external_name(question: Question, entry: ServiceEntry, shown: str) -> str:
    if question.endpoint or question.with_port:
        return f"{shown} is an ExternalName, which has neither endpoints nor ports"
    if not entry.target:
        return f"{shown} is an ExternalName without a host name that can be used"
    return f"{shown} is an ExternalName for {names.to_text(entry.target)}"


def _endpoints(index: Index, policy: Policy, question: Question, entry: ServiceEntry) -> Finding:
    """Names that are made of endpoints: those of a headless Service, and of single endpoints of any."""
    shown = f"{'headless ' if entry.kind == HEADLESS else ''}{_object('Service', question.key)}"
    keys = index.endpoints.slices_of(question.key) if policy.endpoints else ()
    objects = (_object("Service", question.key), *(_object("EndpointSlice", key) for key in keys))
    items = find(index, policy, question)
    if items:
        count = len({(item.packed, item.host) for item in items})
        which = f" named {_text(question.endpoint)}" if question.endpoint else ""
        where = f" in topology zone {_text(question.zone)}" if question.zone and not question.prefer else ""
        return Finding(f"{shown} has {count} ready endpoint{'' if count == 1 else 's'}{which}{where}", objects)
    if not policy.endpoints:
        return Finding(f"{shown} would need endpoints, which 'noendpoints' leaves out", objects)
    if not keys:
        return Finding(f"{shown} has no EndpointSlice: its selector finds no Pod", objects)
    slices = index.endpoints.by_service[question.key]
    labels = dict.fromkeys(_text(endpoint_label(endpoint)) for _, endpoints in slices for endpoint in endpoints)
    if not labels:
        return Finding(f"{shown} has no ready endpoint", objects)
    if question.zone:
        return Finding(f"{shown} has no ready endpoint in topology zone {_text(question.zone)}", objects)
    if question.endpoint:
        text = f"{shown} has no ready endpoint named {_text(question.endpoint)}; there is {_listed(labels)}"
        return Finding(text, objects)
    return Finding(_no_port(tuple(port for ports, _ in slices for port in ports), question, shown), objects)


def _no_port(ports: Ports, question: Question, shown: str) -> str:
    known = dict.fromkeys(
        f"{_text(name) or number}/{_text(protocol)}" for number, name, protocol in ports if number >= 0
    )
    wanted = f"{_text(question.port) or 'any'}/{_text(question.protocol) or 'any'}"
    return f"{shown} has no port {wanted}; there is {_listed(known) if known else 'none at all'}"


def _pod(index: Index, policy: Policy, question: Question) -> Finding:
    packed = pod_address(question.service)
    if packed is None:
        return Finding(f"'{_text(question.service)}' spells no address; expected one such as 10-244-0-5")
    text, namespace = addr.unpack(packed), _text(question.namespace)
    if policy.pods == PODS_INSECURE:
        return Finding(f"the name itself spells {text}; no Pod is looked at (pods insecure)")
    keys = index.pods.get(packed, ())
    own = tuple(_object("Pod", key) for key in keys if key_namespace(key) == question.namespace)
    if own and dashed(packed) != question.service:
        return Finding(f"{text} has to be spelled {_text(dashed(packed))}", own)
    if own:
        return Finding(f"{_listed(own)} has the address {text}", own)
    others = tuple(_object("Pod", key) for key in keys)
    suffix = f"; {_listed(others)} has it" if others else ""
    return Finding(f"no Pod in namespace {namespace} has the address {text}{suffix}", others)


def _object(kind: str, key: bytes) -> str:
    """An object by its index key."""
    return f"{kind} {_text(key_namespace(key))}/{_text(key[1 : 1 + key[0]])}"


def _listed(words: Iterable[str]) -> str:
    """The first few words."""
    known = list(words)
    more = f" and {len(known) - _SHOWN} more" if len(known) > _SHOWN else ""
    return ", ".join(known[:_SHOWN]) + more


def _text(label: bytes) -> str:
    return label.decode("utf-8", "replace")
