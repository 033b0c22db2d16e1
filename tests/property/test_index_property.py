"""The index after any order of events equals the index made from what is there at the end."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.objects import endpoint, endpoint_slice, make_index, namespace, pod, service
from waypost.cluster.index import Index
from waypost.wire import addr

addresses = st.sampled_from([f"10.0.0.{n}" for n in range(4)] + ["fd00::1"])
small = st.sampled_from(["a", "b"])


@st.composite
def objects(draw: st.DrawFn) -> object:
    where = f"{draw(small)}/{draw(small)}"
    kind = draw(st.sampled_from(["Service", "EndpointSlice", "Pod", "Namespace"]))
    if kind == "Service":
        return service(where, *draw(st.lists(addresses, max_size=2, unique=True)) or ["None"])
    if kind == "EndpointSlice":
        endpoints = [
            endpoint(a, host=draw(st.sampled_from([None, "h"])), ready=draw(st.booleans()))
            for a in draw(st.lists(addresses, max_size=3))
        ]
        return endpoint_slice(where, *endpoints, of=draw(st.sampled_from(["", "a", "b"])))
    if kind == "Pod":
        return pod(where, draw(addresses))
    return namespace(draw(small))


def identity(item: object) -> tuple[str, str, str]:
    meta = item.metadata  # type: ignore[attr-defined]
    return type(item).__name__, meta.namespace, meta.name


def state(index: Index) -> tuple[object, ...]:
    every = [f"10.0.0.{n}" for n in range(4)] + ["fd00::1"]
    packed = [addr.pack(text) or b"" for text in every]
    return (
        index.services,
        index.endpoints.by_service,
        [index.endpoints.services_of(one) for one in packed],
        {one: set(keys) for one, keys in index.pods.items()},
        index.namespaces,
    )


@settings(max_examples=300)
@given(st.lists(st.tuples(objects(), st.booleans()), max_size=25))
def test_any_order_of_events_ends_in_the_same_state(events: list[tuple[object, bool]]) -> None:
    index = make_index()
    there: dict[tuple[str, str, str], object] = {}
    for item, deleted in events:
        kind, space, name = identity(item)
        if deleted:
            index.sinks[kind].removed(space, name)
            there.pop((kind, space, name), None)
        else:
            index.sinks[kind].changed(item)
            there[kind, space, name] = item
    assert state(index) == state(make_index(*there.values()))  # type: ignore[arg-type]


@settings(max_examples=150)
@given(st.lists(objects(), max_size=12), st.lists(objects(), max_size=12))
def test_a_list_leaves_exactly_what_it_named(before: list[object], after: list[object]) -> None:
    index = make_index(*before)  # type: ignore[arg-type]
    for sink in index.sinks.values():
        sink.begin_list()
    for item in after:
        index.sinks[identity(item)[0]].listed(item)
    for sink in index.sinks.values():
        sink.end_list()
    last = {identity(item): item for item in after}
    assert state(index) == state(make_index(*last.values()))  # type: ignore[arg-type]
