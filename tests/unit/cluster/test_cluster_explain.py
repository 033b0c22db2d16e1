"""Why the cluster says what it says: one sentence for every way a name can be there or missing."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from support.objects import endpoint, endpoint_slice, make_index, namespace, pod, port, service
from waypost.cluster.answer import answer
from waypost.cluster.explain import explain, explain_address
from waypost.cluster.index import Index
from waypost.cluster.nearby import similar
from waypost.cluster.objects import EndpointPort
from waypost.cluster.policy import PODS_INSECURE, PODS_VERIFIED, Policy
from waypost.cluster.reverse import names_of_address
from waypost.wire import addr, consts, names

ZONE = names.from_text("cluster.local.")
HTTP = EndpointPort(8080, "http", "TCP")


@pytest.fixture(scope="module")
def index() -> Index:
    return make_index(
        *map(namespace, ("shop", "prod", "hidden", "kube-system")),
        service("shop/web", "10.96.1.1", ports=(port(80, "http"),)),
        endpoint_slice("shop/web-1", endpoint("10.0.0.1", host="first"), of="web", ports=(HTTP,)),
        service("shop/waiting", ports=(port(80, "http"),)),
        service("shop/db", "None", ports=(port(80, "http"),)),
        endpoint_slice("shop/db-a", endpoint("10.0.0.2", host="db-0"), endpoint("10.0.0.3"), of="db", ports=(HTTP,)),
        endpoint_slice("shop/db-b", endpoint("fd00::4", host="db-4"), of="db", ports=(HTTP,), kind="IPv6"),
        service("shop/lonely", "None"),
        service("shop/down", "None"),
        endpoint_slice("shop/down-1", endpoint("10.0.0.9", ready=False), of="down", ports=(HTTP,)),
        service("shop/out", external="api.example.com"),
        service("shop/broken", external="192.0.2.1"),
        service("hidden/secret", "10.96.1.9", ports=(port(80, "http"),)),
        pod("shop/client", "10.244.0.5"),
    )


SAYS = [
    ("", "A", True, "the zone itself; there is no A record"),
    ("dns-version", "TXT", True, "the version of the Kubernetes DNS specification"),
    ("svc", "A", True, "'svc' stands above all namespaces; there is no A record"),
    ("shop.svc", "A", True, "namespace shop exists, and has no data of its own; there is no A record"),
    ("shop.svc", "TXT", False, "namespace shop exists, and has no data of its own"),
    ("web.shop", "A", False, "'shop' before the zone is neither svc nor pod, so it is no name of a Service or Pod"),
    ("a.b.c.d.shop.svc", "A", False, "a name of 6 labels before the zone means nothing in a cluster"),
    ("web.shop.svc", "A", True, "Service shop/web has the cluster address 10.96.1.1"),
    ("web.shop.svc", "AAAA", True, "Service shop/web has the cluster address 10.96.1.1; there is no AAAA record"),
    ("waiting.shop.svc", "A", True,
     ("Service shop/waiting has the cluster address that it is still waiting for, but no ready endpoint; "
     "there is no A record")),
    ("web.prod.svc", "A", False, "namespace prod has no Service web; a Service web exists in namespace shop"),
    ("web.prodd.svc", "A", False, "namespace prodd does not exist; a Service web exists in namespace shop"),
    ("api.prodd.svc", "A", False, "namespace prodd does not exist; there is prod"),
    ("api.nowhere.svc", "A", False, "namespace nowhere does not exist"),
    ("lonly.shop.svc", "A", False, "namespace shop has no Service lonly; there is lonely"),
    ("nothing.prod.svc", "A", False, "namespace prod has no Service nothing"),
    ("_http._tcp.web.shop.svc", "SRV", True, "Service shop/web has the cluster address 10.96.1.1"),
    ("_grpc._tcp.web.shop.svc", "SRV", False, "Service shop/web has no port grpc/tcp; there is http/tcp"),
    ("_.x.web.shop.svc", "SRV", False, "Service shop/web has no port any/x; there is http/tcp"),
    ("first.web.shop.svc", "A", True, "Service shop/web has 1 ready endpoint named first"),
    ("second.web.shop.svc", "A", False, "Service shop/web has no ready endpoint named second; there is first"),
    ("db.shop.svc", "A", True, "headless Service shop/db has 3 ready endpoints"),
    ("db-0.db.shop.svc", "AAAA", True,
     "headless Service shop/db has 1 ready endpoint named db-0; there is no AAAA record"),
    ("db-9.db.shop.svc", "A", False,
     "headless Service shop/db has no ready endpoint named db-9; there is db-0, 10-0-0-3, db-4"),
    ("_smtp._tcp.db.shop.svc", "SRV", False, "headless Service shop/db has no port smtp/tcp; there is http/tcp"),
    ("lonely.shop.svc", "A", False, "headless Service shop/lonely has no EndpointSlice: its selector finds no Pod"),
    ("down.shop.svc", "A", False, "headless Service shop/down has no ready endpoint"),
    ("out.shop.svc", "A", True, "Service shop/out is an ExternalName for api.example.com."),
    ("x.out.shop.svc", "A", False, "Service shop/out is an ExternalName, which has neither endpoints nor ports"),
    ("broken.shop.svc", "A", False, "Service shop/broken is an ExternalName without a host name that can be used"),
    ("10-0-0-1.shop.pod", "A", False, "names of Pods are off (pods disabled)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "qtype", "exists", "text"), SAYS)
def test_what_is_said(index: Index, name: str, qtype: str, exists: bool, text: str) -> None:
    finding = explain(index, Policy(), ZONE, wire(name), consts.type_number(qtype) or 0)
    assert (finding.text, finding.exists) == (text, exists)


@pytest.mark.parametrize(
    ("policy", "name", "exists", "text"),
    [
        (Policy(namespaces=frozenset((b"shop",))), "secret.hidden.svc", False,
         "namespace hidden is not among those of the 'namespaces' option"),
        (Policy(endpoints=False), "db.shop.svc", False,
         "headless Service shop/db would need endpoints, which 'noendpoints' leaves out"),
        (Policy(ignore_empty_service=True), "waiting.shop.svc", False,
         "Service shop/waiting has no ready endpoint, and 'ignore empty_service' hides it"),
        (Policy(zonal=True), "a.pin._zone.web.shop.svc", False,
         "Service shop/web is not headless, and only headless ones have names by topology zone"),
        (Policy(pods=PODS_INSECURE), "1-2-3-4.shop.pod", True,
         "the name itself spells 1.2.3.4; no Pod is looked at (pods insecure)"),
        (Policy(pods=PODS_INSECURE), "client.shop.pod", False,
         "'client' spells no address; expected one such as 10-244-0-5"),
        (Policy(pods=PODS_VERIFIED), "10-244-0-5.shop.pod", True, "Pod shop/client has the address 10.244.0.5"),
        (Policy(pods=PODS_VERIFIED), "10-244-0-5.prod.pod", False,
         "no Pod in namespace prod has the address 10.244.0.5; Pod shop/client has it"),
        (Policy(pods=PODS_VERIFIED), "10-244-0-6.shop.pod", False,
         "no Pod in namespace shop has the address 10.244.0.6"),
    ],
)  # fmt: skip
def test_what_options_do(index: Index, policy: Policy, name: str, exists: bool, text: str) -> None:
    finding = explain(index, policy, ZONE, wire(name), consts.TYPE_A)
    assert (finding.text, finding.exists) == (text, exists)


def test_the_objects_behind_it(index: Index) -> None:
    found = explain(index, Policy(), ZONE, wire("db.shop.svc"), consts.TYPE_A)
    assert found.objects == ("Service shop/db", "EndpointSlice shop/db-a", "EndpointSlice shop/db-b")
    assert explain(index, Policy(), ZONE, wire("x.prod.svc"), consts.TYPE_A).objects == ("Namespace prod",)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("10.96.1.1", "10.96.1.1 is the cluster address of Service shop/web"),
        ("10.0.0.2", "10.0.0.2 is the address of a ready endpoint of Service shop/db"),
        ("10.96.1.9", "10.96.1.9 belongs to Service hidden/secret, which the 'namespaces' option hides"),
        ("10.244.0.5", "10.244.0.5 belongs to Pod shop/client, but no Service has it: Pods have no reverse names"),
        ("192.0.2.1", "no Service and no ready endpoint has the address 192.0.2.1"),
    ],
)
def test_addresses(index: Index, address: str, text: str) -> None:
    packed = addr.pack(address)
    assert packed is not None
    policy = Policy(namespaces=frozenset((b"shop",)))
    finding = explain_address(index, policy, packed)
    assert finding.text == text
    assert finding.exists == bool(names_of_address(index, policy, packed))


@pytest.mark.parametrize("pods", ["disabled", "insecure", "verified"])
@pytest.mark.parametrize("changes", [{}, {"endpoints": False}, {"ignore_empty_service": True}, {"zonal": True}])
def test_it_says_of_every_name_what_the_answer_says(index: Index, pods: str, changes: dict[str, bool]) -> None:
    policy = replace(Policy(pods=pods), **changes)  # type: ignore[arg-type]  # all of them are truths
    first = ("", "x.", "first.", "db-0.", "_http._tcp.", "_x._tcp.", "a.b.c.", "a.pin._zone.", "a.prefer._zone.")
    second = ("", "web.", "db.", "lonely.", "down.", "out.", "broken.", "no.", "10-244-0-5.", "\\000\\255.")
    third = ("", "shop.", "prod.", "no.")
    for parts in product(first, second, third, ("svc", "pod", "other", "")):
        text = "".join(parts).strip(".")
        name = wire(text)
        for qtype in (consts.TYPE_A, consts.TYPE_AAAA, consts.TYPE_SRV, consts.TYPE_TXT, consts.TYPE_CNAME):
            finding = explain(index, policy, ZONE, name, qtype)
            assert finding.exists == answer(index, policy, ZONE, name, qtype).exists, text
            assert finding.text


def test_similar_words_are_few_and_close() -> None:
    known = [b"payment", b"payments", b"paymnt", b"pay-ments", b"payroll", b"p", b"\xff\xfe"]
    assert similar(b"paymet", known) == ["payment", "payments", "paymnt"]
    assert similar(b"zzz", known) == []
    assert similar(b"payment", [b"payment"]) == []


def wire(name: str) -> bytes:
    return names.from_text(f"{name}.cluster.local." if name else "cluster.local.")
