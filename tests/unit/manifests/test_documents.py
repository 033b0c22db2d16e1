"""Files to manifests and problems."""

from __future__ import annotations

import pytest

from waypost.manifests.documents import split

NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {}}}\n"


def names(text: str, file: str = "f.yaml") -> list[tuple[int, str]]:
    documents, problems = split(text, file)
    assert problems == []
    return [(document.number, document.name) for document in documents]


def problem(text: str, file: str = "f.yaml") -> str:
    documents, problems = split(text, file)
    assert documents == []
    assert len(problems) == 1
    return str(problems[0])


A, B, C = (NAMESPACE.format(name) for name in "abc")

FILES = [
    ("", []),
    ("# only a comment\n\n", []),
    ("---\n---\n", []),
    (A, [(1, "a")]),
    (f"---\n{A}", [(1, "a")]),
    (f"# licence\n---\n{A}---\n{B}", [(1, "a"), (2, "b")]),
    (f"%YAML 1.1\n---\n{A}...\n# end\n%YAML 1.1\n---\n{B}...\n", [(1, "a"), (2, "b")]),
    (f"{A}...\n{B}", [(1, "a"), (2, "b")]),
    (f"{A}---\n---\n{B}", [(1, "a"), (3, "b")]),
    (f"{A}--- # second\n{B}", [(1, "a"), (2, "b")]),
    ("--- {apiVersion: v1, kind: Namespace, metadata: {name: a}}", [(1, "a")]),
    (A.replace("\n", "\r\n") + "---\r\n" + B, [(1, "a"), (2, "b")]),
    ("\ufeff" + A, [(1, "a")]),
    ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {text: '---'}", []),
    ("apiVersion: v1\nkind: ConfigMap\ndata:\n  text: |\n    ---\n    a: [\n", []),
    ("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: x}", []),
    ("apiVersion: policy.example/v1\nkind: AllowList\nspec: {}", []),
]


@pytest.mark.parametrize(("text", "found"), FILES)
def test_documents_of_a_file(text: str, found: list[tuple[int, str]]) -> None:
    assert names(text) == found


def test_lists_are_taken_apart() -> None:
    text = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Namespace, metadata: {name: a}}
-
- apiVersion: v1
  kind: NamespaceList
  items:
  - metadata: {name: b}
  - metadata: {name: C}
- {apiVersion: v1, kind: Secret, metadata: {name: x}}
- {apiVersion: v1, kind: Namespace, metadata: {name: d}}
"""
    documents, problems = split(text, "f.yaml")
    assert [(document.place, document.name) for document in documents] == [
        ("items[0].", "a"),
        ("items[2].items[0].", "b"),
        ("items[4].", "d"),
    ]
    assert len(problems) == 1
    assert str(problems[0]) == (
        "f.yaml, document 1 (Namespace C): items[2].items[1].metadata.name: "
        "expected a DNS label (lower-case letters, digits and '-'), got 'C'"
    )


def test_a_broken_document_does_not_lose_the_others() -> None:
    documents, problems = split(f"{A}---\nkind: [\n---\n{B}---\nkind: Service\napiVersion: v1\n", "f.yaml")
    assert [(document.number, document.name) for document in documents] == [(1, "a"), (3, "b")]
    assert [(item.document, item.field) for item in problems] == [(2, ""), (4, "metadata")]
    assert problems[0].text.startswith("line 5: ")


def test_json() -> None:
    text = '{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "a", "labels": null}}'
    assert names(text, "f.json") == [(1, "a")]
    assert names(text, "f.yaml") == [(1, "a")]
    assert "not JSON" in problem(text[:-1], "f.json")
    assert "nested too deep" in problem("[" * 100_000, "f.json")
    assert "not JSON" in problem('"\ud800"', "f.json")
    assert "expected a Kubernetes object, got 'text'" in problem('"text"', "f.json")


SERVICE = "{{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: shop}}, spec: {}}}"
SERVICE_PROBLEMS = [
    ("1", "spec: expected an object, got 1"),
    ("{ports: {}}", "spec.ports: expected a list, got an object"),
    ("{ports: [1]}", "spec.ports[0]: expected an object, got 1"),
    ("{ports: [{}]}", "spec.ports[0].port: required"),
    ("{ports: [{port: http}]}", "spec.ports[0].port: expected an integer, got 'http'"),
    ("{ports: [{port: 80}, {port: '81'}]}", "spec.ports[1].port: expected an integer, got '81'"),
    ("{ports: [{port: 0}]}", "spec.ports[0].port: expected an integer >= 1, got 0"),
    ("{ports: [{port: 70000}]}", "spec.ports[0].port: expected an integer <= 65535, got 70000"),
    ("{ports: [{port: 80, protocol: tcp}]}", "spec.ports[0].protocol: expected TCP, UDP or SCTP, got 'tcp'"),
    ("{ports: [{port: 80, targetPort: yes}]}", "spec.ports[0].targetPort: expected an integer or a name, got true"),
    ("{type: Headless}", "spec.type: expected ClusterIP, NodePort, LoadBalancer or ExternalName, got 'Headless'"),
    ("{clusterIP: 10.96.0.300}", "spec.clusterIP: expected an IP address or None, got '10.96.0.300'"),
    ("{clusterIP: 10}", "spec.clusterIP: expected an IP address or None, got 10"),
    ("{clusterIPs: [10.96.0.3, none]}", "spec.clusterIPs[1]: expected an IP address or None, got 'none'"),
    ("{externalIPs: ['fe80::1%eth0']}", "spec.externalIPs[0]: expected an IP address, got 'fe80::1%eth0'"),
    ("{ipFamilies: [ipv4]}", "spec.ipFamilies[0]: expected IPv4 or IPv6, got 'ipv4'"),
    ("{selector: {app: web, version: 1}}", "spec.selector[version]: expected a string, got 1"),
    ("{type: ExternalName}", "spec.externalName: required for type ExternalName"),
    ("{publishNotReadyAddresses: 'no'}", "spec.publishNotReadyAddresses: expected true or false, got 'no'"),
]


@pytest.mark.parametrize(("spec", "words"), SERVICE_PROBLEMS)
def test_field_that_does_not_fit(spec: str, words: str) -> None:
    assert problem(SERVICE.format(spec)) == f"f.yaml, document 1 (Service shop/web): {words}"


PROBLEMS = [
    ("- 1", "expected a Kubernetes object, got a list"),
    ("replicas: 3", "kind: required"),
    ("kind: 3", "kind: expected a string, got 3"),
    ("kind: Pod", "apiVersion: required"),
    ("{kind: Pod, apiVersion: 1}", "apiVersion: expected a string, got 1"),
    ("{kind: List, apiVersion: v1, items: 5}", "items: expected a list, got 5"),
    ("{kind: Pod, apiVersion: v1}", "metadata: required"),
    ("{kind: Pod, apiVersion: v1, metadata: {}}", "metadata.name: required"),
    (
        "{kind: Deployment, apiVersion: apps/v1, metadata: {name: a}, spec: {replicas: 1000000000}}",
        "spec.replicas: expected an integer <= 10000, got 1000000000",
    ),
    (
        "{kind: EndpointSlice, apiVersion: discovery.k8s.io/v1, metadata: {name: a}, endpoints: [{addresses: [a]}]}",
        "endpoints[0].addresses[0]: expected an IP address, got 'a'",
    ),
    (
        "{kind: Namespace, apiVersion: v1, metadata: {name: " + "a" * 64 + "}}",
        "metadata.name: expected at most 63 characters, got '" + "a" * 64 + "'",
    ),
    (
        "{kind: Service, apiVersion: v1, metadata: {name: a, labels: {b: " + "c" * 100 + ", d: 1}}}",
        "metadata.labels[d]: expected a string, got 1",
    ),
]


@pytest.mark.parametrize(("text", "words"), PROBLEMS)
def test_object_that_does_not_fit(text: str, words: str) -> None:
    assert problem(text).endswith(f": {words}")


def test_canonical_addresses() -> None:
    text = SERVICE.format("{clusterIP: 'FD00:0::1', externalIPs: ['2001:DB8::0:1', '']}")
    (document,), problems = split(text, "f.yaml")
    assert problems == []
    assert document.manifest.spec.cluster_ip == "fd00::1"  # type: ignore[union-attr]
    assert document.manifest.spec.external_ips == ["2001:db8::1", ""]  # type: ignore[union-attr]


def test_large_values_are_cut_in_messages() -> None:
    assert len(problem(SERVICE.format("{clusterIP: " + "9" * 5000 + "}"))) < 200
