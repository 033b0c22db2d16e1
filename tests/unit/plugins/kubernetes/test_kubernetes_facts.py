"""What the kubernetes plugin tells other plugins: whole zones, search paths, metadata."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chain import FakeNext, make_directive, make_request, make_site
from support.objects import make_index, namespace, pod, service
from support.records import record_texts
from waypost.cluster.index import Index
from waypost.dispatch.handler import AutoPath, Metadata, Transferer
from waypost.plugins.kubernetes import setup
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.plugins.kubernetes.setup import own_search
from waypost.wire import consts, names
from waypost.wire.reply import failure

ZONES = "cluster.local 10.in-addr.arpa in-addr.arpa"
INDEX = make_index(
    *map(namespace, ("a", "b")),
    service("a/web", "10.96.0.1"),
    pod("a/one", "10.2.0.1", labels={"app": "web", "tier": "front"}),
    pod("a/host", "192.0.2.1"),
    pod("b/host", "192.0.2.1"),
    pod_labels=True,
)
SEARCH = (names.from_text("corp.example."),)


def handler(options: str = "pods verified", index: Index = INDEX) -> Kubernetes:
    config = parse(make_directive(f"kubernetes {ZONES} {{\n{options}\n}}"), ())
    made = Kubernetes(config, index, [b"\x0a\x03\x00\x01"], SEARCH)
    made.next = FakeNext(failure(consts.REFUSED))
    return made


def zone(text: str) -> bytes:
    return names.from_text(text)


def test_it_can_do_what_other_plugins_look_for() -> None:
    assert isinstance(handler(), Transferer)
    assert isinstance(handler(), AutoPath)
    assert isinstance(handler(), Metadata)


def test_a_whole_zone() -> None:
    records = handler("ttl 600").transfer(zone("cluster.local."), None)
    assert records is not None
    apex = "@ 300 SOA ns.dns hostmaster 1000 7200 1800 86400 600"
    assert record_texts(records, "cluster.local.") == [
        apex,
        "@ 600 NS ns.dns",
        "ns.dns 0 A 10.3.0.1",
        "web.a.svc 600 A 10.96.0.1",
        apex,
    ]


@pytest.mark.parametrize(("serial", "count"), [(1000, 1), (999, 5), (1001, 5)])
def test_serials(serial: int, count: int) -> None:
    records = handler().transfer(zone("cluster.local."), serial)
    assert records is not None
    assert len(list(records)) == count


@pytest.mark.parametrize("name", ["foo.cluster.local.", "local.", "10.in-addr.arpa.", "in-addr.arpa.", "."])
def test_other_zones_are_not_made_up(name: str) -> None:
    assert handler().transfer(zone(name), None) is None


def test_a_cluster_that_was_not_read_is_no_empty_zone() -> None:
    index = Index(lambda: 0.0, kinds=("Service",))
    assert handler(index=index).transfer(zone("cluster.local."), None) is None


def test_search_path_of_a_pod() -> None:
    request = make_request("www.a.svc.Cluster.local.", client=("10.2.0.1", 4000))
    path = ["a.svc.cluster.local.", "svc.cluster.local.", "cluster.local.", "corp.example.", "."]
    assert handler().autopath(request) == list(map(zone, path))


@pytest.mark.parametrize(
    ("name", "client", "options"),
    [
        ("www.example.org.", "10.2.0.1", "pods verified"),
        ("www.a.svc.cluster.local.", "10.9.9.9", "pods verified"),
        ("www.a.svc.cluster.local.", "192.0.2.1", "pods verified"),
        ("www.a.svc.cluster.local.", "10.2.0.1", "pods insecure"),
        ("www.a.svc.cluster.local.", "fe80::1%eth0", "pods verified"),
    ],
)
def test_no_search_path(name: str, client: str, options: str) -> None:
    assert handler(options).autopath(make_request(name, client=(client, 4000))) == []


PARTS = ("port-name", "protocol", "endpoint", "service", "namespace", "kind")
CLIENT = {
    "kubernetes/client-namespace": "a",
    "kubernetes/client-pod-name": "one",
    "kubernetes/client-label/app": "web",
    "kubernetes/client-label/tier": "front",
}


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cluster.local.", ("", "", "", "", "", "")),
        ("svc.cluster.local.", ("", "", "", "", "", "svc")),
        ("A.svc.cluster.local.", ("", "", "", "", "a", "svc")),
        ("web.a.svc.cluster.local.", ("", "", "", "web", "a", "svc")),
        ("ep.web.a.svc.cluster.local.", ("", "", "ep", "web", "a", "svc")),
        ("_http._tcp.web.a.svc.cluster.local.", ("http", "tcp", "", "web", "a", "svc")),
        ("10-2-0-1.a.pod.cluster.local.", ("", "", "", "10-2-0-1", "a", "pod")),
        (r"x\.y.a.svc.cluster.local.", ("", "", "", r"x\.y", "a", "svc")),
    ],
)
def test_parts_of_a_name(name: str, parts: tuple[str, ...]) -> None:
    facts = {label: value() for label, value in handler().metadata(make_request(name, client=("10.2.0.1", 4000)))}
    assert facts == CLIENT | {f"kubernetes/{part}": value for part, value in zip(PARTS, parts, strict=True)}


@pytest.mark.parametrize(
    ("name", "client", "facts"),
    [
        ("www.example.org.", "10.2.0.1", CLIENT),
        ("www.example.org.", "10.9.9.9", {}),
        ("www.example.org.", "192.0.2.1", {}),
        ("foo.cluster.local.", "10.9.9.9", {"kubernetes/parse-error": "invalid query name"}),
        ("1.0.96.10.in-addr.arpa.", "10.9.9.9", {"kubernetes/parse-error": "invalid query name"}),
    ],
)
def test_other_facts(name: str, client: str, facts: dict[str, str]) -> None:
    found = handler().metadata(make_request(name, client=(client, 4000)))
    assert {label: value() for label, value in found} == facts


@pytest.mark.parametrize(
    ("options", "metadata", "kept"),
    [("pods verified", True, True), ("pods verified", False, False), ("pods insecure", True, False)],
)
def test_labels_are_kept_only_for_metadata(options: str, metadata: bool, kept: bool) -> None:
    site = make_site("cluster.local")
    site.collect = (lambda request: None) if metadata else None
    setup(make_directive(f"kubernetes {{\n{options}\n}}"), site)
    made = site.handlers["kubernetes"][0]
    assert isinstance(made, Kubernetes)
    assert made.config.source.pod_labels is kept
    made.index.sinks["Pod"].changed(pod("a/one", "10.2.0.1", labels={"app": "web"}))
    assert bool(made.index.pod_labels) is kept


def test_own_search_list(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    assert own_search(str(path)) == ()
    path.write_text("search corp.example\n")
    assert own_search(str(path)) == SEARCH
