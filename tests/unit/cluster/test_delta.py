"""A copy that is told every change is what the index is."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from waypost.cluster.delta import Delta, apply, decode, whole
from waypost.cluster.index import Index
from waypost.cluster.objects import EndpointSlice, Namespace, Pod, Service

NAMES = ("a", "b", "c")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Copied:
    """An index, and one that is told what changes in it; `told` are the keys that followers of the copy heard."""

    def __init__(self, **options: bool) -> None:
        self.clock = Clock()
        kinds = ("Service", "EndpointSlice", "Pod", "Namespace")
        self.index = Index(self.clock, kinds=kinds, pod_labels=True, **options)
        self.copy = Index(lambda: 5.0, kinds=kinds, pod_labels=True, **options)
        self.index.journal = self
        self.delta = Delta()
        self.told: list[Any] = []
        self.copy.subscribe(self.told.append)

    def note(self, kind: str, key: bytes, entry: object) -> None:
        self.delta.note(kind, key, entry)

    def tell(self) -> None:
        delta, self.delta = self.delta, Delta()
        apply(decode(msgspec.msgpack.encode(delta.at(self.index))), self.copy)

    def equal(self) -> bool:
        return state(self.index) == state(self.copy)


def state(index: Index) -> dict[str, Any]:
    dump = index.dump()
    return {
        "services": dict(dump.services),
        "slices": dict(dump.slices),
        "by service": index.endpoints.by_service,
        "pods": index.pods,
        "labels": index.pod_labels,
        "namespaces": index.namespaces,
        "serials": (index.serial, index.external_serial),
        "synced": index.synced,
        "restored": index.restored,
    }


def service(name: str, *addresses: str, external: str = "") -> Service:
    ingress = {"status": {"loadBalancer": {"ingress": [{"ip": external}]}}} if external else {}
    spec = {"clusterIP": addresses[0] if addresses else "None", "clusterIPs": list(addresses) or ["None"]}
    return msgspec.convert({"metadata": {"name": name, "namespace": "ns"}, "spec": spec, **ingress}, Service)


def endpoints(name: str, of: str, *addresses: str) -> EndpointSlice:
    metadata = {"name": name, "namespace": "ns", "labels": {"kubernetes.io/service-name": of}}
    found = [{"addresses": [address], "conditions": {"ready": True}} for address in addresses]
    return msgspec.convert({"metadata": metadata, "endpoints": found, "ports": []}, EndpointSlice)


def pod(name: str, address: str, **labels: str) -> Pod:
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "ns", "labels": labels}, "status": {"podIP": address}}, Pod
    )


def namespace(name: str) -> Namespace:
    return msgspec.convert({"metadata": {"name": name}}, Namespace)


def change(index: Index, rng: random.Random) -> None:
    """One event of any kind."""
    name = rng.choice(NAMES)
    address = f"10.0.0.{rng.randrange(4)}"
    sinks = index.sinks
    happens = rng.choice(
        [
            lambda: sinks["Service"].changed(service(name, address)),
            lambda: sinks["Service"].changed(service(name, address, external=f"192.0.2.{rng.randrange(3)}")),
            lambda: sinks["Service"].removed("ns", name),
            lambda: sinks["EndpointSlice"].changed(endpoints(name, rng.choice(NAMES), address, "10.0.0.9")),
            lambda: sinks["EndpointSlice"].removed("ns", name),
            lambda: sinks["Pod"].changed(pod(name, address, colour=rng.choice(NAMES))),
            lambda: sinks["Pod"].removed("ns", name),
            lambda: sinks["Namespace"].changed(namespace(name)),
            lambda: sinks["Namespace"].removed("", name),
        ]
    )
    happens()


@pytest.mark.parametrize("seed", range(20))
def test_every_change_arrives(seed: int) -> None:
    rng = random.Random(seed)
    copied = Copied()
    for _ in range(100):
        copied.clock.now += rng.choice([0, 0.2, 1.5])
        for _ in range(rng.randrange(1, 4)):
            change(copied.index, rng)
        copied.tell()
        assert copied.equal()


@pytest.mark.parametrize("seed", range(5))
def test_a_copy_may_begin_at_any_time(seed: int) -> None:
    rng = random.Random(seed)
    copied = Copied()
    for _ in range(50):
        change(copied.index, rng)
    late = Index(lambda: 5.0, kinds=("Service",), pod_labels=True)
    for delta in whole(copied.index):
        apply(decode(msgspec.msgpack.encode(delta)), late)
    assert state(late) == state(copied.index)


def test_a_sync_is_told_at_its_end() -> None:
    copied = Copied()
    for kind in ("Service", "EndpointSlice", "Pod", "Namespace"):
        copied.index.sinks[kind].begin_list()
        copied.index.sinks[kind].end_list()
        copied.tell()
        assert copied.copy.synced is copied.index.synced is (kind == "Namespace")
    assert copied.told[-1] is None


def test_what_is_empty_until_it_is_known_stays_unknown() -> None:
    copied = Copied()
    parts = list(whole(copied.index))
    assert [part.synced for part in parts] == [False]


def test_followers_of_the_copy_hear_of_the_same_keys() -> None:
    copied = Copied()
    heard: list[Any] = []
    copied.index.subscribe(heard.append)
    copied.index.sinks["Service"].changed(service("a", "10.0.0.1"))
    copied.tell()
    assert copied.told[: len(heard)] == heard


def test_nothing_new_is_nothing() -> None:
    copied = Copied()
    copied.index.sinks["Service"].changed(service("a", "10.0.0.1"))
    copied.tell()
    copied.told.clear()
    copied.index.sinks["Service"].changed(service("a", "10.0.0.1"))
    assert copied.delta == Delta()
    copied.tell()
    assert copied.told == []
