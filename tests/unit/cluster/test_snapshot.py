"""A snapshot holds everything answers need, and a damaged one is recognized."""

from __future__ import annotations

import pytest

from support.objects import endpoint, endpoint_slice, make_index, namespace, pod, port, service
from waypost.cluster.index import Index
from waypost.cluster.snapshot import BadSnapshot, Header, pack, unpack
from waypost.wire import addr

HEADER = Header("server x", 1234.5)


def filled() -> Index:
    index = make_index(namespace("a"), namespace("b"), pod("a/p", "10.2.0.1"))
    for n in range(1200):
        index.sinks["Service"].changed(service(f"a/s-{n}", f"10.96.{n // 256}.{n % 256}", ports=(port(80, "http"),)))
    index.sinks["Service"].changed(service("b/out", external="www.example.org"))
    index.sinks["EndpointSlice"].changed(endpoint_slice("a/e", endpoint("10.1.0.1", host="h"), of="s-1"))
    return index


def test_there_and_back() -> None:
    index = filled()
    header, dump = unpack(b"".join(pack(HEADER, index.dump())), HEADER.identity)
    other = Index(lambda: 5.0, kinds=("Service",))
    other.restore(dump)
    assert header == HEADER
    assert (other.services, other.endpoints.by_service) == (index.services, index.endpoints.by_service)
    assert (other.pods, other.namespaces) == (index.pods, index.namespaces)
    packed = addr.pack("10.96.0.7") or b""
    assert other.service_of_address(packed) == index.service_of_address(packed)
    assert (other.known, other.synced, other.serial) == (True, False, 5)


def test_a_list_after_it_reconciles() -> None:
    other = Index(lambda: 5.0)
    other.restore(filled().dump())
    sink = other.sinks["Service"]
    sink.begin_list()
    sink.listed(service("a/s-1", "10.96.0.1", ports=(port(80, "http"),)))
    sink.listed(service("a/new", "10.97.0.1"))
    sink.end_list()
    assert sorted(other.services) == [b"\x03new\x01a", b"\x03s-1\x01a"]


@pytest.mark.parametrize("cut", [0, 10, 25, 60, 5000, -1, -6])
def test_a_cut_file_is_recognized(cut: int) -> None:
    data = b"".join(pack(HEADER, filled().dump()))
    with pytest.raises(BadSnapshot):
        unpack(data[:cut], HEADER.identity)


def test_other_settings_and_noise_are_recognized() -> None:
    data = b"".join(pack(HEADER, filled().dump()))
    for wrong in (data.replace(b"s-1", b"\xff\xff\xff", 1)[:-20] + b"\xc1" * 20, b"x" * 100, data[:30] + b"\xc1" * 50):
        with pytest.raises(BadSnapshot):
            unpack(wrong, HEADER.identity)
    with pytest.raises(BadSnapshot, match="other settings"):
        unpack(data, "server y")
