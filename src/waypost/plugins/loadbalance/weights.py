"""The weight file, and following it while it changes.

    # a comment
    www.example.org
    192.0.2.1 3
    192.0.2.2 1

Weights are from 1 to 255 and hold for the name above them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from waypost.corefile.values import format_duration
from waypost.log import Log
from waypost.toolkit.background import Background
from waypost.wire import addr, names
from waypost.wire.errors import BadName
from waypost.wire.record import Record

Table = Mapping[bytes, Mapping[bytes, int]]
"""Name in wire form and lower case -> packed address -> weight."""

_MAX_WEIGHT = 255
_OPEN_ERROR = "weight file open error"


class WeightError(Exception):
    """The file cannot be read or understood; the text says where."""


class WeightFile:
    """The weights in a file. `interval` is how often it is looked at, in seconds; 0: never again."""

    def __init__(self, path: str, interval: float, log: Log) -> None:
        self._path = path
        self._interval = interval
        self._log = log
        self._text: bytes | None = None
        self._table: Table = {}
        self._work = Background()

    def of(self, record: Record) -> int:
        """The weight of an address record, 1 if none is set."""
        weights = self._table.get(record.owner.lower())
        return weights.get(record.rdata, 1) if weights is not None else 1

    def load(self) -> None:
        """Read the file for the first time: it may be missing if it is looked at again. Raises WeightError."""
        try:
            text = self._read()
        except WeightError as exc:
            if not self._interval:
                raise
            again = format_duration(self._interval)
            self._log.warning(f"Failed to open weight file:{exc}. Will try again in {again}")
            return
        self._take(text)

    def start(self) -> None:
        """Follow the file until `stop`."""
        if self._interval:
            self._work.start(self._follow)

    async def stop(self) -> None:
        """End that."""
        await self._work.stop()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self.look()

    async def look(self) -> None:
        """Take over the file's content if it changed; the weights stay as they are if it cannot be used."""
        try:
            self._take(await asyncio.to_thread(self._read))
        except WeightError as exc:
            self._log.once_a_burst(self._log.warning, f"Weights stay as they are: {exc}")

    def _read(self) -> bytes:
        try:
            with open(self._path, "rb") as file:
                return file.read()
        except OSError as exc:
            raise WeightError(_OPEN_ERROR) from exc

    def _take(self, text: bytes) -> None:
        if text != self._text:
            self._table = parse_weights(text.decode("utf-8", "replace"), self._path)
            self._text = text
            self._log.info(f"Successfully reloaded weight file {self._path}")


def parse_weights(text: str, file: str) -> Table:
    """The table in the text of a weight file. Raises WeightError."""
    table: dict[bytes, dict[bytes, int]] = {}
    weights: dict[bytes, int] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        if not fields or fields[0].startswith("#"):
            continue
        where = f"in weight file {file}, line {number}"
        if len(fields) == 1:
            weights = table.setdefault(_name(fields[0], where), {})
        elif len(fields) == 2:
            packed, weight = _address(fields[0], where), _weight(fields[1], where)
            if weights is None:
                raise WeightError(f"missing domain name {where}")
            weights[packed] = weight
        else:
            raise WeightError(f'could not parse weight line:"{line.strip()}" {where}')
    return table


def _name(text: str, where: str) -> bytes:
    try:
        if addr.pack(text) is None:
            return names.from_text(text).lower()
    except BadName:
        pass
    raise WeightError(f'wrong domain name:"{text}" {where}. (Maybe a missing weight value?)')


def _address(text: str, where: str) -> bytes:
    packed = addr.pack(text)
    if packed is None:
        raise WeightError(f'wrong IP address:"{text}" {where}')
    return packed


def _weight(text: str, where: str) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 3 and 0 < int(text) <= _MAX_WEIGHT:
        return int(text)
    raise WeightError(f'wrong weight value:"{text}" {where}: expected 1 to {_MAX_WEIGHT}')
