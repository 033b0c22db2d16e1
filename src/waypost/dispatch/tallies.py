"""What was answered without a chain, to be counted by the plugins that would have counted it."""

from __future__ import annotations

from collections.abc import Callable

from waypost.metrics.traffic import QUICK, Again

Repeat = Callable[[Again], None]
"""Counts queries that were answered again."""

# So many durations that are worth a look are counted at once.
_MAX_SLOW = 1024


class Tally:
    """Queries that count the same. `users` are the kept answers behind it."""

    __slots__ = ("again", "repeats", "users")

    def __init__(self, repeats: tuple[Repeat, ...]) -> None:
        self.repeats = repeats
        self.users = 0
        self.again = Again()

    def count(self, seconds: float) -> None:
        """One that took so long."""
        again = self.again
        again.times += 1
        again.seconds += seconds
        if seconds > QUICK:
            again.slow.append(seconds)
            if len(again.slow) >= _MAX_SLOW:
                self.fold()

    def fold(self) -> None:
        """Let the plugins count it."""
        if self.again.times:
            again, self.again = self.again, Again()
            for repeat in self.repeats:
                repeat(again)


class Tallies:
    """One tally for all kept answers that count the same."""

    __slots__ = ("_tallies",)

    def __init__(self) -> None:
        self._tallies: dict[tuple[Repeat, ...], Tally] = {}

    def take(self, repeats: tuple[Repeat, ...]) -> Tally:
        """The tally for one more kept answer."""
        tally = self._tallies.get(repeats)
        if tally is None:
            tally = self._tallies[repeats] = Tally(repeats)
        tally.users += 1
        return tally

    def give_back(self, tally: Tally) -> None:
        """A kept answer is gone."""
        tally.users -= 1
        if not tally.users:
            tally.fold()
            del self._tallies[tally.repeats]

    def fold(self) -> None:
        """Let the plugins count everything."""
        for tally in self._tallies.values():
            tally.fold()

    def clear(self) -> None:
        """Every kept answer is gone."""
        self.fold()
        self._tallies.clear()
