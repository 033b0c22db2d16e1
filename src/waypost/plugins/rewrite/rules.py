"""The kinds of rules but those for EDNS options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from waypost.plugins.rewrite.answers import with_owners, with_target, with_ttl, with_values
from waypost.plugins.rewrite.asked import Asked, Revert, with_rcode
from waypost.plugins.rewrite.renaming import NameChange, NameTest, back_to
from waypost.wire.reply import Reply


@dataclass(frozen=True, slots=True)
class NameRule:
    """Ask for another name.

    `auto` maps the new name back to the old one in the reply; `answers` are changes that are the same for every name.
    """

    change: NameChange
    auto: bool = False
    answers: tuple[Revert, ...] = ()

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """Ask for the new name, in lower case."""
        old = asked.name
        new = self.change(old)
        if new is None:
            return None
        new = new.lower()
        asked.rename(new)
        return (*reverting(back_to(new, old)), *self.answers) if self.auto else self.answers


@dataclass(frozen=True, slots=True)
class TypeRule:
    """Ask for another type."""

    old: int
    new: int

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """Only the question changes."""
        if asked.qtype != self.old:
            return None
        asked.qtype = self.new
        return ()


@dataclass(frozen=True, slots=True)
class ClassRule:
    """Ask in another class."""

    old: int
    new: int

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """Only the question changes."""
        if asked.qclass != self.old:
            return None
        asked.qclass = self.new
        return ()


@dataclass(frozen=True, slots=True)
class TtlRule:
    """Keep the TTLs of a reply within bounds, in seconds."""

    fits: NameTest
    lowest: int
    highest: int

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """Only the reply changes."""
        if not self.fits(asked.name):
            return None
        return (partial(with_ttl, lowest=self.lowest, highest=self.highest),)


@dataclass(frozen=True, slots=True)
class RcodeRule:
    """Answer with another rcode."""

    fits: NameTest
    old: int
    new: int

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """Only the reply changes."""
        if not self.fits(asked.name):
            return None
        return (partial(with_rcode, old=self.old, new=self.new, asked=asked),)


@dataclass(frozen=True, slots=True)
class CnameRule:
    """Exchange the target of a CNAME in the answer. `flaw` says why it never can."""

    change: NameChange
    flaw: str = ""

    def apply(self, asked: Asked) -> tuple[Revert, ...] | None:
        """It fits every question: what counts is in the reply."""
        return (partial(with_target, change=self.change, asked=asked),)


def reverting(change: NameChange) -> tuple[Revert, ...]:
    """The change for owners and for the names in data."""
    return (owners(change), values(change))


def owners(change: NameChange) -> Callable[[Reply], Reply]:
    """The change of a reply's owners."""
    return partial(with_owners, change=change)


def values(change: NameChange) -> Callable[[Reply], Reply]:
    """The change of the names in a reply's data."""
    return partial(with_values, change=change)
