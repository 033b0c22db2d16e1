"""Addresses as labels, and host names that are none."""

from __future__ import annotations

import pytest

from waypost.cluster.entries import dashed, endpoint_label, host_name
from waypost.cluster.find import pod_address
from waypost.wire import addr


@pytest.mark.parametrize(
    ("address", "label"),
    [
        ("192.0.2.1", "192-0-2-1"),
        ("2001:db8::1", "2001-db8--1"),
        ("2001:db8::", "2001-db8--0"),
        ("::ffff:0:1", "--ffff-0-1"),
        ("::ffff:192.0.2.1", "--ffff-c000-201"),
        ("::192.0.2.1", "--c000-201"),
        ("::1", "--1"),
        ("::", "--0"),
    ],
)
def test_labels_of_addresses(address: str, label: str) -> None:
    """Also of those whose text has dots: a label with a dot could not be asked for, or would be two."""
    packed = addr.pack(address)
    assert packed is not None
    found = endpoint_label((packed, b"", b"", b""))
    assert found.decode() == label
    assert pod_address(found) == packed, "the label spells the address"
    assert found.startswith(dashed(packed))


@pytest.mark.parametrize("text", ["", "192.0.2.7", "192.0.2.7.", "2001:db8::1", "::ffff:192.0.2.7", "a..b"])
def test_what_is_no_host_name(text: str) -> None:
    assert host_name(text) == b""
