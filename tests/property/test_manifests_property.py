"""What holds for manifests whatever they say."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Any

import msgspec
import yaml
from hypothesis import given
from hypothesis import strategies as st

from waypost.cluster import objects
from waypost.manifests.addresses import Ranges
from waypost.manifests.documents import Document, split
from waypost.manifests.resolve import Cluster, resolve

WIDE = Ranges(service_v4=IPv4Network("0.0.0.0/1"), pod_v4=IPv4Network("128.0.0.0/1"))
"""So wide that no two hashes meet: with fewer addresses one object may have to make room for another."""

NAMES = st.text("abcdefghij", min_size=1, max_size=6)
LABELS = st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12"), max_size=2)


def metadata(name: str, namespace: str) -> dict[str, Any]:
    return {"name": name, "namespace": namespace}


def workload(kind: str, meta: dict[str, Any], replicas: int, labels: dict[str, str]) -> dict[str, Any]:
    template = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    spec = {"replicas": replicas, "serviceName": "a", "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}


def service(meta: dict[str, Any], selector: dict[str, str], policy: str, headless: bool) -> dict[str, Any]:
    spec = {"selector": selector, "ipFamilyPolicy": policy, "ports": [{"port": 80}]}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta,
        "spec": spec | ({"clusterIP": "None"} if headless else {}),
    }


METADATA = st.builds(metadata, NAMES, st.sampled_from(["shop", "default"]))
OBJECTS = st.lists(
    st.one_of(
        st.builds(
            workload, st.sampled_from(["Deployment", "StatefulSet", "ReplicaSet"]), METADATA, st.integers(0, 3), LABELS
        ),
        st.builds(service, METADATA, LABELS, st.sampled_from(["SingleStack", "PreferDualStack"]), st.booleans()),
    ),
    max_size=8,
    unique_by=lambda item: (item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]),
)


def documents(items: list[dict[str, Any]]) -> list[Document]:
    found, problems = split(yaml.safe_dump_all(items), "f.yaml")
    assert problems == []
    return found


def addresses(cluster: Cluster) -> dict[tuple[str, str, str], Any]:
    """Identity -> the addresses of every Service and pod."""
    return {
        (item["kind"], item["metadata"].get("namespace", ""), item["metadata"]["name"]): (
            item["spec"]["clusterIPs"] if item["kind"] == "Service" else item["status"]["podIPs"]
        )
        for item in cluster.objects
        if item["kind"] in ("Service", "Pod")
    }


@given(OBJECTS.flatmap(lambda items: st.tuples(st.just(items), st.permutations(items))))
def test_the_order_of_documents_does_not_matter(orders: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> None:
    one, other = (resolve(documents(items), Ranges()) for items in orders)
    assert one == other
    assert one.problems == ()


@given(OBJECTS)
def test_another_object_does_not_change_an_address(items: list[dict[str, Any]]) -> None:
    whole = addresses(resolve(documents(items), WIDE))
    for index in range(len(items)):
        part = addresses(resolve(documents(items[:index] + items[index + 1 :]), WIDE))
        assert part.items() <= whole.items()


@given(OBJECTS)
def test_no_two_objects_share_an_address(items: list[dict[str, Any]]) -> None:
    narrow = Ranges(service_v4=IPv4Network("10.0.0.0/27"), pod_v4=IPv4Network("10.1.0.0/27"))
    given_out = [str(one) for some in addresses(resolve(documents(items), narrow)).values() for one in some]
    unique = [address for address in given_out if address != "None"]
    assert len(set(unique)) == len(unique)


FIELD_NAMES = (
    "apiVersion kind metadata name namespace labels spec status ports port targetPort selector clusterIP clusterIPs "
    "replicas template containers containerPort hostname subdomain items endpoints addresses addressType subsets ip "
    "podIP phase externalName type ipFamilies serviceName ownerReferences controller conditions ready"
)
FIELDS = st.sampled_from(FIELD_NAMES.split())
WORDS = "v1 apps/v1 batch/v1 discovery.k8s.io/v1 List ServiceList None 10.0.0.1 fd00::1 http web IPv4 FQDN"
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 70000),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.sampled_from(WORDS.split()),
)
KINDS = [
    ("v1", "Service"),
    ("v1", "Pod"),
    ("v1", "Namespace"),
    ("v1", "Endpoints"),
    ("v1", "List"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
]
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5), max_leaves=12
)


def anything(kind: tuple[str, str], value: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "a"}} | value | {"apiVersion": kind[0], "kind": kind[1]}


def check_served(text: str, file: str) -> None:
    found, problems = split(text, file)
    cluster = resolve(found, Ranges())
    for item in cluster.objects:
        msgspec.convert(item, getattr(objects, item["kind"]))
    assert all(str(problem).startswith(file) for problem in (*problems, *cluster.problems))


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    check_served(text, "f.yaml")
    check_served(text, "f.json")


@given(st.text("ab:-#[]{}&*!|>'\"%?, \n\t.", max_size=40))
def test_any_punctuation_is_read_or_refused(text: str) -> None:
    check_served(text, "f.yaml")


@given(st.lists(st.builds(anything, st.sampled_from(KINDS), st.dictionaries(FIELDS, JSON, max_size=5)), max_size=3))
def test_any_fields_are_read_or_refused(items: list[dict[str, Any]]) -> None:
    check_served(yaml.safe_dump_all(items, allow_unicode=True), "f.yaml")
    check_served(msgspec.json.encode({"kind": "List", "items": items}).decode(), "f.json")
