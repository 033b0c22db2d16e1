"""A whole look-up: the queries that a resolver sent, how each was answered, and what the end of it is due to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from waypost.explanation.sentence import sentence
from waypost.explanation.told import Told
from waypost.podside.cascade import Cascade
from waypost.podside.spellings import guessed_target

_FOUND = "addresses"
_UNKNOWN = "unknown"
_MISSING = ("nxdomain", "nodata")
_NO_FAILURES = ("NOERROR", "NXDOMAIN")


@dataclass(frozen=True, slots=True)
class Story:
    """`name` as it was given, seen from a namespace in a cluster domain; `told` are the queries of `made` in order."""

    name: str
    namespace: str
    domain: str
    made: Cascade
    told: Sequence[Told]

    @property
    def decisive(self) -> Told | None:
        """The query that the result is due to; None if nothing was asked.

        That is the one whose answer is used, or the failure that ended the search. Where no name exists it is the one
        for the name that was most likely meant, and not the last that was tried.
        """
        if not self.told:
            return None
        if self.made.result == _FOUND:
            found = [told for told in self.told if told.name == self.made.name]
            return next((told for told in found if told.data), found[0] if found else self.told[-1])
        if self.made.result not in _MISSING:
            return next((told for told in self.told if told.rcode not in _NO_FAILURES), self.told[-1])
        own = next((told for told in self.told if told.name == self.made.name), self.told[-1])
        return self._meant or own

    @property
    def _meant(self) -> Told | None:
        """The query for the name that a spelling most likely means."""
        meant = guessed_target(self.name, self.domain, self.namespace).name.lower()
        return next((told for told in self.told if told.name.lower() == f"{meant}."), None)

    @property
    def result(self) -> str:
        """That of the cascade, or `unknown` where it hangs on somebody who was not to be asked."""
        return _UNKNOWN if self.made.result != _FOUND and any(told.unasked for told in self.told) else self.made.result

    @property
    def closing(self) -> str:
        """Why the answer is what it is."""
        decisive = self.decisive
        if decisive is None:
            if self.made.addresses:
                return f"{' '.join(self.made.addresses)}: the resolver knows this by itself and asks nobody"
            return f"{self.made.result}: the resolver asks nobody, for this is no name that can be asked for"
        names = len({told.name for told in self.told})
        if names == 1:
            return sentence(decisive)
        if self.result == _UNKNOWN and not decisive.unasked:
            unasked = " ".join(dict.fromkeys(told.name for told in self.told if told.unasked))
            return f"{sentence(decisive)}; whether {unasked} exists was not asked"
        if self.result in _MISSING:
            return f"{sentence(decisive)}; none of the {names} names tried exists"
        text = f"{sentence(decisive)}; asked for as {decisive.name}, one of {names} names tried"
        meant = self._meant
        if self.result == _FOUND or meant is None or meant.name == decisive.name:
            return text
        return f"{text}; before that {meant.name} was {sentence(meant)}"

    def as_json(self) -> dict[str, object]:
        """Queries with a sentence each, and the closing one."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "queries": [{**told.as_json(), "sentence": sentence(told)} for told in self.told],
            "result": self.result,
            "addresses": list(self.made.addresses),
            "sentence": self.closing,
        }
