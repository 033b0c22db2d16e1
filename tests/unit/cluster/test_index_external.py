"""External addresses, their serial, and labels of pods in the index."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from support.objects import pod, port, service
from waypost.cluster.entries import External
from waypost.cluster.index import Index
from waypost.cluster.objects import Ingress, Service
from waypost.wire import addr, names

WEB = b"\x03web\x01a"


def packed(text: str) -> bytes:
    found = addr.pack(text)
    assert found is not None
    return found


@pytest.fixture
def index() -> Index:
    seconds: Iterator[int] = count(1)
    return Index(lambda: float(next(seconds)))


def put(index: Index, item: Service) -> tuple[bool, bool]:
    """Whether the serial and the external serial were raised."""
    before = index.serial, index.external_serial
    index.sinks["Service"].changed(item)
    return index.serial > before[0], index.external_serial > before[1]


def test_addresses_and_hosts_in_the_order_of_the_api(index: Index) -> None:
    balancer = (Ingress("203.0.113.9"), Ingress(hostname="LB.example.net"), Ingress("203.0.113.7"), Ingress())
    put(index, service("a/web", "10.0.0.1", outside=("203.0.113.7", "2001:db8::7", "nonsense!.."), balancer=balancer))
    addresses = tuple(map(packed, ("203.0.113.7", "2001:db8::7", "203.0.113.9")))
    assert index.services[WEB].external == External(addresses, (names.from_text("lb.example.net."),))


def test_an_address_in_the_place_of_a_host_name_is_an_address(index: Index) -> None:
    put(index, service("a/web", "10.0.0.1", balancer=(Ingress(hostname="203.0.113.7"),)))
    assert index.services[WEB].external == External((packed("203.0.113.7"),), ())


def test_services_without_external_addresses_share_one_empty_value(index: Index) -> None:
    put(index, service("a/one", "10.0.0.1"))
    put(index, service("a/two", "10.0.0.2", balancer=(Ingress(),)))
    assert len({id(entry.external) for entry in index.services.values()}) == 1


def test_several_services_may_have_one_external_address(index: Index) -> None:
    put(index, service("a/web", outside=("203.0.113.7",)))
    put(index, service("b/web", outside=("203.0.113.7",)))
    assert index.services_of_external(packed("203.0.113.7")) == (WEB, b"\x03web\x01b")
    put(index, service("b/web", outside=("203.0.113.8",)))
    assert index.services_of_external(packed("203.0.113.7")) == (WEB,)
    index.sinks["Service"].removed("a", "web")
    assert index.services_of_external(packed("203.0.113.7")) == ()


def test_each_serial_is_raised_by_what_its_zones_show(index: Index) -> None:
    http, outside = (port(80, "http"),), ("203.0.113.7",)
    assert put(index, service("a/web", "10.0.0.1", ports=http)) == (True, False)
    assert put(index, service("a/web", "10.0.0.1", ports=http, outside=outside)) == (False, True)
    assert put(index, service("a/web", "10.0.0.1", ports=http, outside=outside)) == (False, False)
    assert put(index, service("a/web", "10.0.0.2", ports=http, outside=outside)) == (True, False)
    assert put(index, service("a/web", "10.0.0.2", outside=outside)) == (True, True)
    assert put(index, service("a/web", "10.0.0.2")) == (False, True)
    assert put(index, service("a/lb", "10.0.0.3", outside=outside)) == (True, True)
    before = index.external_serial
    index.sinks["Service"].removed("a", "lb")
    assert index.external_serial > before


def test_changes_name_external_addresses(index: Index) -> None:
    put(index, service("a/web", "10.0.0.1", outside=("203.0.113.7",)))
    seen: list[object] = []
    index.subscribe(lambda keys: seen.append(set(keys or ())))
    put(index, service("a/web", "10.0.0.1", outside=("203.0.113.8",)))
    index.sinks["Service"].removed("a", "web")
    old, new, own = map(packed, ("203.0.113.7", "203.0.113.8", "10.0.0.1"))
    assert seen == [{WEB, own, old, new}, {WEB, own, new}]


def test_labels_of_pods_are_kept_on_request(index: Index) -> None:
    index.sinks["Pod"].changed(pod("a/one", "10.2.0.1", labels={"app": "web"}))
    assert index.pod_labels == {}
    keeping = Index(lambda: 1.0, pod_labels=True)
    sink = keeping.sinks["Pod"]
    sink.changed(pod("a/one", "10.2.0.1", labels={"app": "web"}))
    sink.changed(pod("a/two", "10.2.0.2"))
    assert keeping.pod_labels == {b"\x03one\x01a": (("app", "web"),), b"\x03two\x01a": ()}
    told: list[object] = []
    keeping.subscribe(told.append)
    sink.changed(pod("a/one", "10.2.0.1", labels={"app": "api"}))
    assert keeping.pod_labels[b"\x03one\x01a"] == (("app", "api"),)
    assert told == [], "no answer depends on a label"
    sink.changed(pod("a/one", "10.2.0.3", labels={"app": "db"}))
    assert keeping.pod_labels[b"\x03one\x01a"] == (("app", "db"),)
    sink.removed("a", "one")
    assert keeping.pod_labels == {b"\x03two\x01a": ()}
