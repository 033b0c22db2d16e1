"""What objects take in memory: sizes that make sense beside each other."""

from __future__ import annotations

from objects import bytes_each


def test_every_kind_has_a_size() -> None:
    sizes = bytes_each(many=128)
    assert min(sizes.values()) > 50
    assert max(sizes.values()) < 4096
    assert sizes["each further endpoint"] < sizes["EndpointSlice with one endpoint"]
    assert sizes["cached name, asked for once"] < sizes["cached name, asked for again"]
