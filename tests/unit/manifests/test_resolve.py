"""Manifests to a cluster."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_address
from typing import Any

import msgspec
import pytest

from waypost.cluster import objects
from waypost.manifests.addresses import POD_V4, POD_V6, SERVICE_V4, SERVICE_V6, Ranges
from waypost.manifests.documents import split
from waypost.manifests.resolve import Cluster, resolve


def read(text: str, ranges: Ranges | None = None) -> Cluster:
    """The cluster of one YAML text without problems in its fields; every object fits the server's structs."""
    documents, problems = split(text, "f.yaml")
    assert problems == []
    cluster = resolve(documents, ranges or Ranges())
    for item in cluster.objects:
        msgspec.convert(item, getattr(objects, item["kind"]))
    return cluster


def find(cluster: Cluster, kind: str, name: str, namespace: str = "shop") -> dict[str, Any]:
    """The one object of that identity."""
    (item,) = (
        item
        for item in cluster.objects
        if (item["kind"], item["metadata"]["name"], item["metadata"].get("namespace", "")) == (kind, name, namespace)
    )
    return item


def names(cluster: Cluster, kind: str) -> set[str]:
    """`namespace/name` of all objects of a kind."""
    found = [item["metadata"] for item in cluster.objects if item["kind"] == kind]
    return {f"{meta.get('namespace', '')}/{meta['name']}" for meta in found}


def slices(cluster: Cluster, service: str) -> list[dict[str, Any]]:
    """The slices of a Service in namespace shop."""
    return [
        item
        for item in cluster.objects
        if item["kind"] == "EndpointSlice"
        and item["metadata"]["namespace"] == "shop"
        and item["metadata"]["labels"].get("kubernetes.io/service-name") == service
    ]


def endpoints(cluster: Cluster, service: str) -> list[tuple[str, bool, str | None]]:
    """(target name, ready, host name) of every endpoint of a Service in namespace shop."""
    return [
        (item["targetRef"]["name"], item["conditions"]["ready"], item.get("hostname"))
        for found in slices(cluster, service)
        for item in found["endpoints"]
    ]


def ports(cluster: Cluster, service: str) -> set[tuple[str, str, int]]:
    """(name, protocol, number) of every slice port."""
    return {(p["name"], p["protocol"], p["port"]) for found in slices(cluster, service) for p in found["ports"]}


def service(name: str, spec: str, meta: str = "") -> str:
    return f"---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop{meta}}}\nspec: {spec}\n"


TEMPLATE = (
    "{metadata: {labels: {app: web}}, spec: {containers: [{ports: [{name: http, containerPort: 8080},"
    " {name: http, containerPort: 8081, protocol: UDP}, {containerPort: 1}]}],"
    " initContainers: [{restartPolicy: Always, ports: [{name: side, containerPort: 9}]},"
    " {ports: [{name: init, containerPort: 7}]}]}}"
)


def workload(
    kind: str, spec: str = "", status: str = "", name: str = "web", meta: str = "", group: str = "apps/"
) -> str:
    return (
        f"---\napiVersion: {group}v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop{meta}}}\n"
        f"spec: {{{spec}{', ' if spec else ''}template: {TEMPLATE}}}\nstatus: {{{status}}}\n"
    )


def pod(name: str, spec: str = "{}", status: str = "{}", meta: str = "") -> str:
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, labels: {{app: web}}{meta}}}\n"
        f"spec: {spec}\nstatus: {status}\n"
    )


WEB = service("web", "{selector: {app: web}, ports: [{port: 80}]}")


def test_an_empty_cluster_has_what_every_cluster_has() -> None:
    cluster = read("")
    assert names(cluster, "Namespace") == {"/default", "/kube-node-lease", "/kube-public", "/kube-system"}
    assert names(cluster, "Service") == {"default/kubernetes"}
    api = find(cluster, "Service", "kubernetes", "default")
    assert api["spec"]["clusterIP"] == "10.96.0.1"
    assert [(port["name"], port["port"]) for port in api["spec"]["ports"]] == [("https", 443)]
    (found,) = (item for item in cluster.objects if item["kind"] == "EndpointSlice")
    assert found["endpoints"] == [{"addresses": ["10.244.0.1"], "conditions": {"ready": True}}]
    assert cluster.problems == ()


def test_a_declared_kubernetes_service_is_left_alone() -> None:
    text = "{apiVersion: v1, kind: Service, metadata: {name: kubernetes}, spec: {clusterIP: 10.96.7.7}}"
    cluster = read(text)
    assert find(cluster, "Service", "kubernetes", "default")["spec"]["clusterIP"] == "10.96.7.7"
    assert names(cluster, "EndpointSlice") == set()


def test_namespaces_in_use_exist() -> None:
    cluster = read(
        WEB + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: mine, labels: {a: b}}}\n"
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: nobody}}"
    )
    assert {"/shop", "/mine"} < names(cluster, "Namespace")
    assert "/nobody" not in names(cluster, "Namespace")
    labels = find(cluster, "Namespace", "mine", "")["metadata"]["labels"]
    assert labels == {"a": "b", "kubernetes.io/metadata.name": "mine"}


SERVICE_ADDRESSES = [
    ("{ports: [{port: 80}]}", ["new v4"]),
    ("{clusterIP: 10.96.1.1}", ["10.96.1.1"]),
    ("{clusterIP: 203.0.113.9}", ["203.0.113.9"]),
    ("{clusterIP: ''}", ["new v4"]),
    ("{clusterIP: None}", ["None"]),
    ("{clusterIPs: [None]}", ["None"]),
    ("{clusterIP: None, ipFamilyPolicy: RequireDualStack}", ["None"]),
    ("{clusterIP: 10.96.1.1, clusterIPs: [10.96.1.1, 'fd00:10:96::9']}", ["10.96.1.1", "fd00:10:96::9"]),
    ("{clusterIP: 'fd00::9', clusterIPs: ['fd00::9', 10.96.1.1]}", ["fd00::9", "10.96.1.1"]),
    ("{ipFamilies: [IPv6]}", ["new v6"]),
    ("{ipFamilies: [IPv6, IPv4]}", ["new v6", "new v4"]),
    ("{ipFamilyPolicy: SingleStack}", ["new v4"]),
    ("{ipFamilyPolicy: PreferDualStack}", ["new v4", "new v6"]),
    ("{ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv6]}", ["new v6", "new v4"]),
    ("{ipFamilyPolicy: PreferDualStack, clusterIP: 10.96.1.1}", ["10.96.1.1", "new v6"]),
    ("{type: LoadBalancer}", ["new v4"]),
    ("{type: NodePort}", ["new v4"]),
]


@pytest.mark.parametrize(("spec", "wanted"), SERVICE_ADDRESSES)
def test_service_addresses(spec: str, wanted: list[str]) -> None:
    found = find(read(service("web", spec)), "Service", "web")["spec"]
    assert len(found["clusterIPs"]) == len(wanted)
    for address, want in zip(found["clusterIPs"], wanted, strict=True):
        if want.startswith("new"):
            assert ip_address(address) in (SERVICE_V4 if want == "new v4" else SERVICE_V6)
        else:
            assert address == want
    assert found["clusterIP"] == found["clusterIPs"][0]


def test_fields_of_a_service_are_kept() -> None:
    cluster = read(
        service("ext", "{type: ExternalName, externalName: pay.example.com}")
        + service("lb", "{type: LoadBalancer, externalIPs: [192.0.2.1], ports: [{port: 53, protocol: UDP, name: dns}]}")
        + "status: {loadBalancer: {ingress: [{ip: 192.0.2.2}, {hostname: lb.example}]}}\n"
    )
    external = msgspec.convert(find(cluster, "Service", "ext"), objects.Service)
    assert external.spec == objects.ServiceSpec(type="ExternalName", external_name="pay.example.com")
    balanced = msgspec.convert(find(cluster, "Service", "lb"), objects.Service)
    assert balanced.spec.external_ips == ["192.0.2.1"]
    assert balanced.spec.ports == [objects.ServicePort(53, "dns", "UDP")]
    assert balanced.status.load_balancer.ingress == [objects.Ingress("192.0.2.2"), objects.Ingress("", "lb.example")]


WORKLOADS = [
    (workload("Deployment"), 1, 1),
    (workload("Deployment", "replicas: 3"), 3, 3),
    (workload("Deployment", "replicas: 0"), 0, 0),
    (workload("Deployment", "replicas: 3", "readyReplicas: 2"), 3, 2),
    (workload("Deployment", "replicas: 3", "observedGeneration: 4, unavailableReplicas: 3"), 3, 0),
    (workload("Deployment", "replicas: 3", "readyReplicas: 5"), 3, 3),
    (workload("ReplicaSet", "replicas: 2"), 2, 2),
    (workload("ReplicationController", "replicas: 2", group=""), 2, 2),
    (workload("StatefulSet", "replicas: 2", "readyReplicas: 1"), 2, 1),
    (workload("DaemonSet"), 1, 1),
    (workload("DaemonSet", "", "desiredNumberScheduled: 4, numberReady: 3"), 4, 3),
    (workload("DaemonSet", "", "desiredNumberScheduled: 0"), 0, 0),
    (workload("Job", group="batch/"), 1, 1),
    (workload("Job", "parallelism: 3, completions: 5", "succeeded: 3", group="batch/"), 2, 2),
    (workload("Job", "parallelism: 3", "active: 2, ready: 1", group="batch/"), 2, 1),
    (workload("Job", "suspend: true", group="batch/"), 0, 0),
    (workload("Job", "", "conditions: [{type: Complete, status: 'True'}]", group="batch/"), 0, 0),
    (pod("a") + pod("b"), 2, 2),
]


@pytest.mark.parametrize(("text", "pods", "ready"), WORKLOADS)
def test_ready_replicas_become_endpoints(text: str, pods: int, ready: int) -> None:
    cluster = read(WEB + text)
    found = endpoints(cluster, "web")
    assert len(found) == len(names(cluster, "Pod")) == pods
    assert sum(is_ready for _, is_ready, _ in found) == ready
    addresses = [item["addresses"][0] for part in slices(cluster, "web") for item in part["endpoints"]]
    assert len(set(addresses)) == pods
    assert all(ip_address(address) in POD_V4 for address in addresses)


def test_pod_names() -> None:
    cluster = read(workload("Deployment", "replicas: 2") + workload("DaemonSet", name="node"))
    assert names(cluster, "Pod") == {"shop/node-nd7n2", "shop/web-zk72p8sgfl-g8ghf", "shop/web-zk72p8sgfl-pbpst"}


def test_stateful_set_pods_have_names_under_their_governing_service() -> None:
    text = (
        service("db", "{clusterIP: None, selector: {app: web}, ports: [{port: 5432}]}")
        + service("read", "{selector: {app: web}, ports: [{port: 5432}]}")
        + service("first", "{selector: {statefulset.kubernetes.io/pod-name: db-5}, ports: [{port: 5432}]}")
        + workload("StatefulSet", "serviceName: db, replicas: 2, ordinals: {start: 5}", name="db")
    )
    cluster = read(text)
    assert endpoints(cluster, "db") == [("db-5", True, "db-5"), ("db-6", True, "db-6")]
    assert endpoints(cluster, "read") == [("db-5", True, None), ("db-6", True, None)]
    assert endpoints(cluster, "first") == [("db-5", True, None)]
    address = find(cluster, "Pod", "db-5")["status"]["podIP"]
    alone = read(workload("StatefulSet", "serviceName: db, replicas: 9, ordinals: {start: 0}", name="db"))
    assert find(alone, "Pod", "db-5")["status"]["podIP"] == address


def test_host_names_that_are_no_label_are_not_used() -> None:
    name = "d" * 62
    text = WEB + workload("StatefulSet", "serviceName: web", name=name)
    assert endpoints(read(text), "web") == [(f"{name}-0", True, None)]


def test_indexed_job() -> None:
    text = service("work", "{clusterIP: None, selector: {job-name: sums}}") + workload(
        "Job", "completionMode: Indexed, completions: 2, parallelism: 5", name="sums", group="batch/"
    ).replace("{containers", "{subdomain: work, containers")
    assert [hostname for _, _, hostname in endpoints(read(text), "work")] == ["sums-0", "sums-1"]


def test_hostname_and_subdomain_of_pods() -> None:
    text = (
        WEB + pod("a", "{hostname: one, subdomain: web}") + pod("b", "{hostname: two}") + pod("c", "{subdomain: web}")
    )
    assert endpoints(read(text), "web") == [("a", True, "one"), ("b", True, None), ("c", True, None)]


PORTS = [
    ("{port: 80}", {("", "TCP", 80)}),
    ("{port: 80, targetPort: 8080, name: http}", {("http", "TCP", 8080)}),
    ("{port: 80, targetPort: http, name: x}", {("x", "TCP", 8080)}),
    ("{port: 80, targetPort: http, protocol: UDP}", {("", "UDP", 8081)}),
    ("{port: 80, targetPort: http, protocol: SCTP}", set()),
    ("{port: 80, targetPort: side}", {("", "TCP", 9)}),
    ("{port: 80, targetPort: init}", set()),
    ("{port: 80, targetPort: none}, {port: 81, name: b}", {("b", "TCP", 81)}),
]


@pytest.mark.parametrize(("given", "found"), PORTS)
def test_target_ports(given: str, found: set[tuple[str, str, int]]) -> None:
    cluster = read(service("web", f"{{selector: {{app: web}}, ports: [{given}]}}") + workload("Deployment"))
    assert ports(cluster, "web") == found
    assert len(endpoints(cluster, "web")) == 1


def test_a_named_port_that_differs_between_pods() -> None:
    text = (
        service("web", "{selector: {app: web}, ports: [{port: 80, targetPort: http}]}")
        + pod("a", "{containers: [{ports: [{name: http, containerPort: 1}]}]}")
        + pod("b", "{containers: [{ports: [{name: http, containerPort: 2}]}]}")
    )
    found = slices(read(text), "web")
    assert len({item["metadata"]["name"] for item in found}) == 2
    by_pod = {item["endpoints"][0]["targetRef"]["name"]: item["ports"][0]["port"] for item in found}
    assert by_pod == {"a": 1, "b": 2}


def test_dual_stack_endpoints() -> None:
    cluster = read(
        service("web", "{ipFamilyPolicy: PreferDualStack, selector: {app: web}}")
        + service("six", "{clusterIP: None, ipFamilies: [IPv6], selector: {app: web}}")
        + workload("Deployment")
    )
    assert {item["addressType"] for item in slices(cluster, "web")} == {"IPv4", "IPv6"}
    (six,) = slices(cluster, "six")
    assert ip_address(six["endpoints"][0]["addresses"][0]) in POD_V6


def test_selectors() -> None:
    cluster = read(
        service("none", "{selector: {app: other}}")
        + service("both", "{selector: {app: web, tier: front}}")
        + service("manual", "{}")
        + service("outside", "{type: ExternalName, externalName: a.example, selector: {app: web}}")
        + workload("Deployment")
        + WEB.replace("namespace: shop", "namespace: elsewhere")
    )
    assert [item for item in cluster.objects if item["kind"] == "EndpointSlice"][1:] == []


def test_slices_carry_the_labels_of_their_service() -> None:
    cluster = read(
        service("web", "{clusterIP: None, selector: {app: web}}", ", labels: {team: a}") + workload("Deployment")
    )
    (found,) = slices(cluster, "web")
    assert found["metadata"]["labels"] == {
        "team": "a",
        "kubernetes.io/service-name": "web",
        "service.kubernetes.io/headless": "",
    }


def test_publish_not_ready_addresses() -> None:
    spec = "{selector: {app: web}, publishNotReadyAddresses: true}"
    cluster = read(service("web", spec) + workload("Deployment", "replicas: 2", "readyReplicas: 0"))
    assert [ready for _, ready, _ in endpoints(cluster, "web")] == [True, True]


PODS = [
    ("{}", "", (True, "new")),
    ("{podIP: 10.9.9.9}", "", (True, "10.9.9.9")),
    ("{phase: Running, podIP: 10.9.9.9, podIPs: [{ip: 10.9.9.9}, {ip: 'fd00::9'}]}", "", (True, "10.9.9.9")),
    ("{podIP: 10.9.9.9, conditions: [{type: Ready, status: 'False'}]}", "", (False, "10.9.9.9")),
    ("{podIP: 10.9.9.9}", ", deletionTimestamp: 2026-01-01T00:00:00Z", (False, "10.9.9.9")),
    ("{phase: Pending}", "", (None, "")),
    ("{phase: Succeeded, podIP: 10.9.9.9}", "", (None, None)),
    ("{phase: Failed, podIP: 10.9.9.9}", "", (None, None)),
    ("{phase: Unknown, podIP: 10.9.9.9}", "", (None, None)),
]


@pytest.mark.parametrize(("status", "meta", "found"), PODS)
def test_pods_as_they_are(status: str, meta: str, found: tuple[bool | None, str | None]) -> None:
    cluster = read(WEB + pod("a", status=status, meta=meta))
    ready, address = found
    assert [item[1] for item in endpoints(cluster, "web")] == ([] if ready is None else [ready])
    if address is None:
        assert names(cluster, "Pod") == set()
        return
    given = find(cluster, "Pod", "a")["status"]["podIP"]
    assert given == address if address != "new" else ip_address(given) in POD_V4
    assert find(cluster, "Pod", "a")["metadata"].get("deletionTimestamp") == (meta[-20:] or None)


OWNED = ", ownerReferences: [{kind: %s, name: %s, controller: true}]"


def test_pods_listed_with_their_workloads_are_not_made_twice() -> None:
    listed = pod("web-1-x", status="{podIP: 10.9.9.9}", meta=OWNED % ("ReplicaSet", "web-1"))
    replica_set = workload("ReplicaSet", name="web-1", meta=OWNED % ("Deployment", "web"))
    deployment = workload("Deployment", "replicas: 3")
    assert names(read(deployment + replica_set + listed), "Pod") == {"shop/web-1-x"}
    assert len(names(read(deployment + replica_set), "Pod")) == 3
    assert len(names(read(replica_set), "Pod")) == 1
    assert names(read(replica_set + listed), "Pod") == {"shop/web-1-x"}
    named = pod("web-0", status="{podIP: 10.9.9.9}")
    cluster = read(workload("StatefulSet", "replicas: 2") + named)
    assert names(cluster, "Pod") == {"shop/web-0", "shop/web-1"}
    assert find(cluster, "Pod", "web-0")["status"]["podIP"] == "10.9.9.9"


SLICE = """---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-1
  namespace: shop
  deletionTimestamp: 2026-01-02T03:04:05Z
  labels: {kubernetes.io/service-name: web}
addressType: IPv4
endpoints:
- addresses: [10.1.1.1]
  conditions: {ready: false}
  hostname: a
  zone: z1
  nodeName: n
  targetRef: {kind: Pod, name: p}
ports: [{name: http, port: 8080, protocol: TCP}, {}]
"""
ENDPOINTS = """---
apiVersion: v1
kind: Endpoints
metadata: {name: web, namespace: shop, labels: {a: b}}
subsets:
- addresses: [{ip: 10.1.1.1, hostname: a, targetRef: {kind: Pod, name: p}}, {ip: 'fd00::1'}]
  notReadyAddresses: [{ip: 10.1.1.2}]
  ports: [{name: http, port: 8080}]
- addresses: [{ip: 10.1.1.3}]
  ports: [{name: http, port: 8080}]
- {}
"""


def test_slices_as_they_are() -> None:
    cluster = read(SLICE + WEB + workload("Deployment") + ENDPOINTS)
    (found,) = slices(cluster, "web")
    assert found["metadata"]["deletionTimestamp"] == "2026-01-02T03:04:05Z"
    assert msgspec.convert(found, objects.EndpointSlice).endpoints == [
        objects.Endpoint(["10.1.1.1"], objects.Conditions(False), "a", "n", "z1", objects.ObjectReference("p"))
    ]
    assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}, {}]


def test_endpoints_become_slices() -> None:
    cluster = read(ENDPOINTS + WEB + workload("Deployment"))
    found = slices(cluster, "web")
    assert len({item["metadata"]["name"] for item in found}) == len(found) == 3
    assert {
        (item["addressType"], end["addresses"][0], end["conditions"]["ready"], end.get("hostname"))
        for item in found
        for end in item["endpoints"]
    } == {
        ("IPv4", "10.1.1.1", True, "a"),
        ("IPv4", "10.1.1.2", False, None),
        ("IPv4", "10.1.1.3", True, None),
        ("IPv6", "fd00::1", True, None),
    }
    assert {item["metadata"]["labels"]["a"] for item in found} == {"b"}
    assert slices(read(ENDPOINTS), "web") == []


def test_given_addresses_are_not_given_out_again() -> None:
    taken = find(read(pod("a")), "Pod", "a")["status"]["podIP"]
    for text in (pod("b", status=f"{{podIP: {taken}}}"), SLICE.replace("10.1.1.1", taken)):
        assert find(read(pod("a") + text), "Pod", "a")["status"]["podIP"] not in ("", taken)
    taken = find(read(WEB), "Service", "web")["spec"]["clusterIP"]
    cluster = read(WEB + service("other", f"{{clusterIP: {taken}}}"))
    assert find(cluster, "Service", "web")["spec"]["clusterIP"] != taken


def test_the_last_of_two_wins_and_the_first_is_named() -> None:
    documents = [
        *split(service("web", "{clusterIP: 10.96.1.1}"), "a.yaml")[0],
        *split("---\n" + service("web", "{clusterIP: 10.96.1.2}"), "b.yaml")[0],
    ]
    cluster = resolve(documents, Ranges())
    assert find(cluster, "Service", "web")["spec"]["clusterIP"] == "10.96.1.2"
    assert [str(problem) for problem in cluster.problems] == [
        "a.yaml, document 1 (Service shop/web): metadata.name: given again in b.yaml, document 2, which is used"
    ]


def test_a_full_network_is_a_problem_of_the_object() -> None:
    ranges = Ranges(service_v4=IPv4Network("10.0.0.0/30"), pod_v4=IPv4Network("10.1.0.0/29"))
    text = "".join(service(f"s{number}", "{}") for number in range(3)) + workload("Deployment", "replicas: 9")
    cluster = read(text, ranges)
    assert [str(problem) for problem in cluster.problems] == [
        "f.yaml, document 4 (Deployment shop/web): no free pod address left in 10.1.0.0/29",
        "f.yaml, document 2 (Service shop/s1): spec.clusterIP: no free address left in 10.0.0.0/30",
        "f.yaml, document 3 (Service shop/s2): spec.clusterIP: no free address left in 10.0.0.0/30",
    ]
    assert find(cluster, "Service", "s1")["spec"]["clusterIP"] == ""
    given = [item["status"]["podIP"] for item in cluster.objects if item["kind"] == "Pod"]
    assert len({address for address in given if "." in address}) == 5


def test_resource_version_follows_the_content() -> None:
    version = [find(read(text), "Service", "web")["metadata"]["resourceVersion"] for text in (WEB, WEB, WEB + SLICE)]
    assert len(set(version)) == 1
    changed = find(read(WEB.replace("80", "81")), "Service", "web")["metadata"]["resourceVersion"]
    assert changed != version[0]
    assert changed.isdigit()
