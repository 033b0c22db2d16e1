"""Fewer replicas only when they were enough for some time: a wave of cordoned nodes must not take DNS away."""

from __future__ import annotations

from collections import deque


class Hold:
    """What was wanted of one target within the last `seconds`."""

    __slots__ = ("_seconds", "_seen")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._seen: deque[tuple[float, int]] = deque()

    def allowed(self, now: float, current: int, wanted: int) -> int:
        """The replicas to ask for now: more at once, fewer as far as every look of the last time agrees.

        `now` is a monotonic time in seconds. What is there at the first look counts as wanted then: a new process
        knows nothing of the time before it.
        """
        if not self._seen:
            self._seen.append((now, current))
        while self._seen and self._seen[0][0] <= now - self._seconds:
            self._seen.popleft()
        # Of older looks only those above all that came after them can still matter.
        while self._seen and self._seen[-1][1] <= wanted:
            self._seen.pop()
        self._seen.append((now, wanted))
        return max(wanted, min(current, self._seen[0][1]))
