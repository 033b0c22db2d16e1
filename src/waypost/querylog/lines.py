"""Lines of a log to queries: `log`'s formats with whatever container runtimes and log collectors put round them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final, Protocol

from waypost.querylog.durations import MAX_SECONDS, parse_duration
from waypost.querylog.formats import DEFAULT, Layout
from waypost.querylog.jsonlines import TEXT_KEYS, read_object, read_time
from waypost.querylog.record import Query, plain_dots
from waypost.querylog.timestamps import STAMP, Clock

_MARK: Final = "[INFO] "
_LEVEL: Final = re.compile(r"\[(DEBUG|INFO|WARNING|ERROR|FATAL)\] ")
# What may stand before a line that does not begin with its level: `kubectl logs --prefix --timestamps`, CRI, klog.
_PREFIX: Final = re.compile(
    rf"(?:\[pod/[^\]]*\] +)?(?:{STAMP} +)?(?:std(?:out|err) [FP] )?(?:{STAMP} +)?(?:[0-9]+ [\w.-]+:[0-9]+\] )?",
    re.ASCII,
)
_MAX_NESTED: Final = 2  # a line of JSON whose text is itself a line of JSON

DecodeJson = Callable[[str], Any]
"""Text to a value; raises ValueError or RecursionError."""


class Matches(Protocol):
    """What is used of a match, of `re` or of RE2."""

    def groups(self) -> tuple[Any, ...]:
        """The texts of all groups."""


Match = Callable[[str, int], Matches | None]
"""Text and where the line begins in it, to the match of all that follows."""


class LineReader:
    """Reads lines; `passed` counts those that are no queries, by the level they name or `other`.

    `match` is for lines laid out as `layout` says, by default those of `common` and `combined`.
    """

    __slots__ = ("_clock", "_decode_json", "_fields", "_match", "passed")

    def __init__(
        self, clock: Clock, decode_json: DecodeJson, layout: Layout = DEFAULT, match: Match | None = None
    ) -> None:
        self._clock = clock
        self._decode_json = decode_json
        self._fields = itemgetter(*layout.groups)
        self._match: Match = re.compile(layout.pattern).fullmatch if match is None else match
        self.passed: Counter[str] = Counter()

    def read(self, line: str) -> Query | None:
        """The query of a line without its line break; None for a line that holds none. Raises nothing."""
        query = self._query(line, None, 0)
        if query is None:
            level = _LEVEL.search(line)
            self.passed[level[1] if level else "other"] += 1
        return query

    def _query(self, line: str, time: float | None, depth: int) -> Query | None:
        if line.startswith("{") and (query := self._json(line, time, depth)) is not None:
            return query
        start = line.find(_MARK) + len(_MARK)
        if start < len(_MARK):
            prefix = _PREFIX.match(line)
            start = prefix.end() if prefix else 0
        found = self._match(line, start)
        if found is None and line.startswith("{", start) and start:
            return self._json(line[start:], self._time(line, start, time), depth)
        if found is None:
            # Two writers at once: the end of such a line may be a whole one.
            later = line.rfind(_MARK) + len(_MARK)
            if later <= start or (found := self._match(line, later)) is None:
                return None
            start = later
        name, kind, rcode, client, duration, port, query_id = self._fields(found.groups())
        if not name:
            return None
        name = name.lower()
        if "\\" in name or name[-1] != ".":
            name = plain_dots(name)
        return Query(
            name,
            kind,
            rcode,
            client[1:-1] if client[:1] == "[" else client,
            _seconds(duration),
            self._time(line, start, time) if start > len(_MARK) else time,
            f"{port}/{query_id}" if port and query_id else "",
        )

    def _time(self, line: str, end: int, given: float | None) -> float | None:
        """The time in front of a line, if it is not known from round it."""
        return self._clock.find(line, end) if given is None else given

    def _json(self, text: str, time: float | None, depth: int) -> Query | None:
        """The query of an object, or of the line it carries."""
        try:
            value = self._decode_json(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        own_time = read_time(value, self._clock)
        time = own_time if own_time is not None else time
        inner = next((value[key] for key in TEXT_KEYS if isinstance(value.get(key), str)), None)
        if inner is not None and depth < _MAX_NESTED:
            query = self._query(inner, time, depth + 1)
            if query is not None:
                return query
        query = read_object(value, self._clock)
        return query if query is None or query.time is not None else query._replace(time=time)


def _seconds(text: str) -> float | None:
    try:
        seconds = float(text[:-1])
    except ValueError:
        return parse_duration(text)
    return seconds if seconds <= MAX_SECONDS else None
