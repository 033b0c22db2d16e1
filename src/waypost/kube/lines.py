"""Chunks of a stream -> whole lines, with a bound on a line's size."""

from __future__ import annotations

from waypost.kube.errors import ApiProtocolError

MAX_LINE = 8 * 1024 * 1024
"""Bytes in a watch event. etcd keeps objects to 1.5 MB, which JSON escapes and managed fields can multiply."""


class LineSplitter:
    """Collects the chunks of one stream."""

    __slots__ = ("_limit", "_parts", "_size")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, without line ends; ApiProtocolError for a line over the limit."""
        first, *rest = chunk.split(b"\n")
        self._parts.append(first)
        whole = [b"".join(self._parts), *rest[:-1]] if rest else []
        if rest:
            self._parts, self._size = [rest[-1]], len(rest[-1])
        else:
            self._size += len(first)
        if self._size > self._limit or any(len(line) > self._limit for line in whole):
            raise ApiProtocolError(f"a watch event of more than {self._limit} bytes")
        return whole

    @property
    def unfinished(self) -> bool:
        """True when the last line is still without its end."""
        return self._size > 0
