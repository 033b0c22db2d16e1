"""The index under events: what is found, what is touched, and lists that replace without a gap."""

from __future__ import annotations

from support.objects import endpoint, endpoint_slice, make_index, namespace, pod, port, service
from waypost.cluster.index import Index
from waypost.cluster.policy import Policy
from waypost.cluster.reverse import name_servers, names_of_address
from waypost.wire import addr


def packed(text: str) -> bytes:
    found = addr.pack(text)
    assert found is not None
    return found


def watch(index: Index) -> list[set[bytes] | None]:
    seen: list[set[bytes] | None] = []
    index.subscribe(lambda keys: seen.append(None if keys is None else set(keys)))
    return seen


def names(index: Index, text: str, **policy: object) -> list[bytes]:
    return names_of_address(index, Policy(**policy), packed(text))  # type: ignore[arg-type]


def test_an_address_moves_between_services_whatever_the_order_of_events() -> None:
    index = make_index(service("a/one", "10.0.0.1"))
    index.sinks["Service"].changed(service("a/two", "10.0.0.1"))
    index.sinks["Service"].removed("a", "one")
    assert names(index, "10.0.0.1") == [b"\x03two\x01a\x03svc"]
    index.sinks["Service"].changed(service("a/two", "10.0.0.2"))
    assert names(index, "10.0.0.1") == []


def test_reverse_names_of_endpoints() -> None:
    index = make_index(
        endpoint_slice("a/s1", endpoint("10.0.0.1", host="h"), endpoint("10.0.0.2", ready=False), of="web"),
        endpoint_slice("a/s2", endpoint("10.0.0.1"), of="db"),
        endpoint_slice("a/s3", endpoint("10.0.0.3")),
    )
    assert names(index, "10.0.0.1") == [b"\x01h\x03web\x01a\x03svc", b"\x0810-0-0-1\x02db\x01a\x03svc"]
    assert names(index, "10.0.0.2") == []
    assert names(index, "10.0.0.3") == [], "a slice without its Service's label makes no names"
    assert names(index, "10.0.0.1", namespaces=frozenset((b"b",))) == []


def test_every_change_names_what_it_touches() -> None:
    index = make_index()
    seen = watch(index)
    index.sinks["Service"].changed(service("a/web", "10.0.0.1"))
    index.sinks["Service"].changed(service("a/web", "10.0.0.2"))
    index.sinks["EndpointSlice"].changed(endpoint_slice("a/s", endpoint("10.1.0.1"), of="web"))
    index.sinks["EndpointSlice"].changed(endpoint_slice("a/s", endpoint("10.1.0.2"), of="api"))
    index.sinks["EndpointSlice"].removed("a", "s")
    index.sinks["Pod"].changed(pod("a/p", "10.2.0.1"))
    index.sinks["Namespace"].changed(namespace("a"))
    web, api = b"\x03web\x01a", b"\x03api\x01a"
    assert seen == [
        {web, packed("10.0.0.1")},
        {web, packed("10.0.0.1"), packed("10.0.0.2")},
        {web, packed("10.1.0.1")},
        {web, api, packed("10.1.0.1"), packed("10.1.0.2")},
        {api, packed("10.1.0.2")},
        {packed("10.2.0.1")},
        None,
    ]
    assert index.serial == 1000


def test_what_changes_nothing_touches_nothing() -> None:
    items = [
        service("a/web", "10.0.0.1"),
        endpoint_slice("a/s", endpoint("10.1.0.1"), of="web"),
        pod("a/p", "10.2.0.1"),
    ]
    index = make_index(namespace("a"), *items)
    seen = watch(index)
    for item in [namespace("a"), *items]:
        index.sinks[type(item).__name__].changed(item)
    index.sinks["Service"].removed("a", "nobody")
    index.sinks["EndpointSlice"].removed("a", "nobody")
    index.sinks["Pod"].removed("a", "nobody")
    index.sinks["Namespace"].removed("", "nobody")
    assert seen == []


def test_a_list_replaces_without_a_gap() -> None:
    index = make_index(service("a/old", "10.0.0.1"), service("a/stays", "10.0.0.2"))
    sink = index.sinks["Service"]
    sink.begin_list()
    sink.listed(service("a/stays", "10.0.0.2"))
    sink.listed(service("a/new", "10.0.0.3"))
    assert len(index.services) == 3
    assert not sink.synced
    sink.end_list()
    assert (
        sorted(index.services) == [b"\x03new\x01a", b"\x06stays\x01a"[:1] + b"stays\x01a"] or len(index.services) == 2
    )
    assert sink.synced


def test_a_broken_list_removes_nothing() -> None:
    index = make_index(service("a/old", "10.0.0.1"))
    sink = index.sinks["Service"]
    sink.begin_list()
    sink.listed(service("a/new", "10.0.0.3"))
    sink.abort_list()
    assert len(index.services) == 2
    assert not sink.synced


def test_synced_waits_for_every_expected_kind() -> None:
    index = Index(lambda: 0.0, kinds=("Service", "Namespace"))
    for kind in ("Service", "Namespace"):
        assert not index.synced
        index.sinks[kind].begin_list()
        index.sinks[kind].end_list()
    assert index.synced


def test_pods() -> None:
    index = make_index(pod("a/one", "10.2.0.1"), pod("b/host", "10.2.0.1"), pod("a/late", "10.2.0.2", terminating=True))
    assert index.pods[packed("10.2.0.1")] == (b"\x03one\x01a", b"\x04host\x01b")
    assert packed("10.2.0.2") not in index.pods
    index.sinks["Pod"].changed(pod("a/one", "10.2.0.1", terminating=True))
    assert index.pods[packed("10.2.0.1")][0] == b"\x03one\x01a", "a known pod stays until it is deleted"
    index.sinks["Pod"].changed(pod("a/one", "10.2.0.3"))
    index.sinks["Pod"].removed("b", "host")
    assert index.pods == {packed("10.2.0.3"): (b"\x03one\x01a",)}


def test_objects_without_a_usable_name_do_no_harm() -> None:
    index = make_index(service("/x", "10.0.0.1"), service("a/" + "x" * 300, "10.0.0.1"), endpoint_slice("/s", of="x"))
    assert index.services == {}


def test_slices_are_merged_in_the_order_of_their_names() -> None:
    first, second = (endpoint_slice(f"a/{n}", endpoint(f"10.0.0.{n}"), of="w") for n in (1, 2))
    assert make_index(first, second).endpoints.by_service == make_index(second, first).endpoints.by_service


def test_pod_names_as_labels() -> None:
    endpoints = (endpoint("10.0.0.1", pod="Web-0"), endpoint("10.0.0.2", pod="p" * 64))
    index = make_index(endpoint_slice("a/s", *endpoints, of="w"), pod_names=True)
    assert names(index, "10.0.0.1") == [b"\x05web-0\x01w\x01a\x03svc"]
    assert names(index, "10.0.0.2") == [b"\x0810-0-0-2\x01w\x01a\x03svc"]


def test_name_servers() -> None:
    index = make_index(
        service("k/dns", "10.96.0.10", ports=(port(53),)),
        endpoint_slice("k/s", endpoint("10.3.0.1"), of="dns"),
        service("k/headless", "None"),
        endpoint_slice("k/h", endpoint("10.3.0.1"), of="headless"),
    )
    found = name_servers(index, [packed("10.3.0.1")])
    assert [(server.prefix, server.addresses) for server in found] == [
        (b"\x03dns\x01k\x03svc", (packed("10.96.0.10"),)),
        (b"\x0810-3-0-1\x08headless\x01k\x03svc", (packed("10.3.0.1"),)),
    ]
    assert name_servers(index, []) == []
    assert [server.prefix for server in name_servers(index, [packed("10.9.9.9")])] == [b"\x02ns\x03dns"]


def test_the_end_of_the_first_sync_touches_everything() -> None:
    index = Index(lambda: 0.0, kinds=("Service", "Namespace"))
    seen = watch(index)
    for kind in ("Service", "Namespace", "Namespace"):
        index.sinks[kind].begin_list()
        index.sinks[kind].end_list()
    assert seen == [None], "a SERVFAIL of the time before must not outlive it"
