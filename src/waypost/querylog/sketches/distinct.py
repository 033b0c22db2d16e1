"""How many distinct texts a stream holds, without keeping them.

HyperLogLog (Flajolet, Fusy, Gandouet, Meunier 2007) with linear counting for small numbers. The relative standard error
is 1.04 / sqrt(2**precision): 1.6 % for 12, 6.5 % for 8. The same texts give the same estimate in any order.
"""

from __future__ import annotations

import math
from hashlib import blake2b
from typing import Final

_HASH_BITS: Final = 64


def fingerprint(text: str) -> int:
    """64 bits that stand for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=_HASH_BITS // 8).digest(), "big")


class Distinct:
    """An estimate in 2**precision bytes; precision 7 to 16."""

    __slots__ = ("_registers", "_rest_bits")

    def __init__(self, precision: int) -> None:
        self._registers = bytearray(1 << precision)
        self._rest_bits = _HASH_BITS - precision

    def add(self, fingerprint: int) -> None:
        """Take note of a text by its fingerprint."""
        index = fingerprint >> self._rest_bits
        rest = fingerprint & ((1 << self._rest_bits) - 1)
        rank = self._rest_bits - rest.bit_length() + 1
        if rank > self._registers[index]:
            self._registers[index] = rank

    def estimate(self) -> int:
        """About how many distinct texts were added."""
        size = len(self._registers)
        raw = 0.7213 / (1 + 1.079 / size) * size * size / sum(2.0**-rank for rank in self._registers)
        empty = self._registers.count(0)
        if raw <= 2.5 * size and empty:
            return round(size * math.log(size / empty))
        return round(raw)
