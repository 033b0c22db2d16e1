"""Networks that addresses lie in or not, asked on the way of a query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from waypost.corefile.addresses import parse_network


@dataclass(frozen=True, slots=True)
class Networks:
    """Networks, by address size in bytes and then by how many bits their prefixes leave out."""

    prefixes: dict[int, dict[int, set[int]]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Those in CIDR notation. Raises ValueError with the text that is wrong."""
        prefixes: dict[int, dict[int, set[int]]] = {4: {}, 16: {}}
        for text in texts:
            try:
                network = parse_network(text)
            except ValueError:
                raise ValueError(text) from None
            shift = network.max_prefixlen - network.prefixlen
            of_size = prefixes[network.max_prefixlen // 8]
            of_size.setdefault(shift, set()).add(int(network.network_address) >> shift)
        return cls(prefixes)

    def hold(self, packed: bytes) -> bool:
        """True if an address of 4 or 16 bytes lies in one of them."""
        number = int.from_bytes(packed, "big")
        for shift, prefixes in self.prefixes[len(packed)].items():  # noqa: SIM110 - on the way of a query
            if number >> shift in prefixes:
                return True
        return False
