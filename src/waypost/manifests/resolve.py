"""Manifests to the cluster they describe: every address, endpoint and namespace that DNS answers from.

Objects that carry addresses are used as they are. For the others the work of the controllers is done on paper: Services
and pods get predictable addresses, ready replicas become endpoints, namespaces in use exist. The result does not
depend on the order of the documents, except that the last of two objects of the same name wins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from waypost.manifests.addresses import IPV4, IPV6, Ranges, family
from waypost.manifests.documents import DEFAULT_NAMESPACE, Document
from waypost.manifests.endpoints import slice_objects
from waypost.manifests.model import EndpointSlice, LabelMeta, Namespace
from waypost.manifests.problem import Problem
from waypost.manifests.services import API_SERVER, metadata, service_objects
from waypost.manifests.workloads import Pod, pods_of

ALWAYS_THERE = (DEFAULT_NAMESPACE, "kube-node-lease", "kube-public", "kube-system")
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"  # which the API server puts on every namespace

Key = tuple[str, str, str]
"""(kind, namespace, name); sorts as the result is sorted."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Namespaces, Services, EndpointSlices and Pods as the API would give them, and what was wrong with the rest.

    `objects` are plain dicts in the shape of the API, sorted by kind, namespace and name. Their resourceVersion is a
    digest of their content: equal versions mean equal objects.
    """

    objects: tuple[dict[str, Any], ...]
    problems: tuple[Problem, ...]


def resolve(documents: Sequence[Document], ranges: Ranges) -> Cluster:
    """The cluster that `documents` describe, with addresses from `ranges` where they give none. Raises nothing."""
    latest, repeated = last_of_each(documents)
    latest.setdefault(key_of(API_SERVER), API_SERVER)
    chosen = [latest[key] for key in sorted(latest)]
    pods, pod_problems = with_addresses(running_pods(chosen), chosen, ranges)
    services, service_problems = service_objects(chosen, ranges)
    objects = [*namespace_objects(chosen), *services, *slice_objects(chosen, pods, ranges), *pod_objects(pods)]
    objects.sort(key=object_key)
    for item in objects:
        item["metadata"]["resourceVersion"] = digest(item)
    return Cluster(tuple(objects), (*repeated, *pod_problems, *service_problems))


def key_of(document: Document) -> Key:
    """Its identity."""
    return document.kind, document.namespace, document.name


def object_key(item: dict[str, Any]) -> Key:
    """The identity of an object in the shape of the API."""
    meta = item["metadata"]
    return item["kind"], meta.get("namespace", ""), meta["name"]


def last_of_each(documents: Sequence[Document]) -> tuple[dict[Key, Document], list[Problem]]:
    """Identity -> the last document of that identity, and a problem for each one before it."""
    latest: dict[Key, Document] = {}
    problems = []
    for document in documents:
        key = key_of(document)
        if (earlier := latest.get(key)) is not None:
            text = f"given again in {document.file}, document {document.number}, which is used"
            problems.append(earlier.problem("metadata.name", text))
        latest[key] = document
    return latest, problems


def running_pods(documents: Sequence[Document]) -> list[Pod]:
    """The declared pods and those of the workloads, without addresses.

    A workload makes no pods where another document makes or is them: its own Deployment or Job, or pods that were
    listed together with it.
    """
    known = {key_of(document) for document in documents}
    staffed: set[Key] = {
        owner for document in documents if document.kind == "Pod" and (owner := controller_of(document)) is not None
    }
    # Pods name their ReplicaSet, and that names its Deployment.
    staffed |= {
        owner
        for document in documents
        if key_of(document) in staffed and (owner := controller_of(document)) is not None
    }
    pods: dict[str, Pod] = {}
    for document in sorted(documents, key=lambda document: document.kind != "Pod"):
        owned = document.kind != "Pod" and controller_of(document) in known
        if not owned and key_of(document) not in staffed:
            for pod in pods_of(document):
                pods.setdefault(pod.key, pod)
    return list(pods.values())


def controller_of(document: Document) -> Key | None:
    """The identity of the object that makes and removes this one (API: ownerReferences with controller)."""
    owners = document.manifest.metadata.owner_references
    owner = next((owner for owner in owners if owner.controller), None)
    return None if owner is None else (owner.kind, document.namespace, owner.name)


def with_addresses(
    pods: Sequence[Pod], documents: Sequence[Document], ranges: Ranges
) -> tuple[list[Pod], list[Problem]]:
    """The pods with an address of both families for those that have none, and a problem where there is none left."""
    pools = ranges.pod_pools()
    for address in given_pod_addresses(pods, documents):
        pools[family(address)].reserve(address)
    waiting = [pod.key for pod in pods if pod.addresses is None]
    assigned_v4, assigned_v6 = pools[IPV4].assign(waiting), pools[IPV6].assign(waiting)
    complete = []
    short: dict[str, Problem] = {}
    for pod in pods:
        if pod.addresses is not None:
            complete.append(pod)
            continue
        found = tuple(given[pod.key] for given in (assigned_v4, assigned_v6) if pod.key in given)
        complete.append(replace(pod, addresses=found))
        if len(found) < 2:
            full = pools[IPV6 if pod.key in assigned_v4 else IPV4].network
            problem = pod.document.problem("", f"no free pod address left in {full}")
            short.setdefault(str(problem), problem)
    return complete, list(short.values())


def given_pod_addresses(pods: Sequence[Pod], documents: Sequence[Document]) -> Iterator[str]:
    """The addresses that pods and endpoint slices bring with them."""
    for pod in pods:
        yield from pod.addresses or ()
    for document in documents:
        if isinstance(document.manifest, EndpointSlice) and document.manifest.address_type != "FQDN":
            for endpoint in document.manifest.endpoints:
                yield from endpoint.addresses


def pod_objects(pods: Sequence[Pod]) -> Iterator[dict[str, Any]]:
    """The pods that cluster DNS would be told of."""
    for pod in pods:
        if pod.finished:
            continue
        addresses = pod.addresses or ()
        meta: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace, "labels": dict(pod.labels)}
        if pod.deletion_timestamp:
            meta["deletionTimestamp"] = pod.deletion_timestamp
        status = {"podIP": next(iter(addresses), ""), "podIPs": [{"ip": address} for address in addresses]}
        yield {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "status": status}


def namespace_objects(documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
    """The declared namespaces, those in use and those every cluster has."""
    declared = {
        document.name: document.manifest.metadata for document in documents if isinstance(document.manifest, Namespace)
    }
    used = {document.namespace for document in documents if document.namespace}
    for name in sorted({*declared, *used, *ALWAYS_THERE}):
        meta = metadata(declared.get(name) or LabelMeta(name), "")
        meta["labels"][NAMESPACE_NAME_LABEL] = name
        yield {"kind": "Namespace", "apiVersion": "v1", "metadata": meta}


def digest(item: dict[str, Any]) -> str:
    """A number that stands for the content, as resourceVersion looks."""
    content = msgspec.json.encode(item, order="deterministic")
    return str(int.from_bytes(hashlib.blake2b(content, digest_size=7).digest(), "big"))
