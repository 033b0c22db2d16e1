"""Who asks, by address."""

from __future__ import annotations

import pytest

from support.objects import make_index, pod
from waypost.cluster.clients import client_namespace, client_pod
from waypost.wire import addr

INDEX = make_index(
    pod("a/one", "10.2.0.1"),
    pod("a/host-1", "192.0.2.1"),
    pod("a/host-2", "192.0.2.1"),
    pod("a/host-3", "192.0.2.2"),
    pod("b/host-4", "192.0.2.2"),
)


@pytest.mark.parametrize(
    ("address", "namespace", "name"),
    [
        ("10.2.0.1", b"a", b"\x03one\x01a"),
        ("192.0.2.1", b"a", b""),
        ("192.0.2.2", b"", b""),
        ("10.9.9.9", b"", b""),
    ],
)
def test_what_all_pods_of_an_address_have_in_common(address: str, namespace: bytes, name: bytes) -> None:
    packed = addr.pack(address)
    assert packed is not None
    assert (client_namespace(INDEX, packed), client_pod(INDEX, packed)) == (namespace, name)
