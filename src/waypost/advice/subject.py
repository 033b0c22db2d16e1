"""What the rules look at: a Corefile taken apart into directives, options and zones, and facts from outside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile, Directive, ServerBlock, Token
from waypost.corefile.zones import ZoneAddress, parse_label


@dataclass(frozen=True, slots=True)
class Option:
    """A line in the block of a directive."""

    name: Token
    values: tuple[Token, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The texts of the values."""
        return tuple(value.text for value in self.values)


@dataclass(frozen=True, slots=True)
class Use:
    """One occurrence of a directive."""

    name: Token
    args: tuple[Token, ...]
    options: tuple[Option, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The texts of the arguments."""
        return tuple(argument.text for argument in self.args)

    def all(self, name: str) -> Iterator[Option]:
        """Its options of a name."""
        return (option for option in self.options if option.name.text == name)

    def last(self, name: str) -> Option | None:
        """The option of a name that counts where the last one does."""
        return next((option for option in reversed(self.options) if option.name.text == name), None)

    def has(self, name: str) -> bool:
        """Whether the option is there."""
        return self.last(name) is not None


@dataclass(frozen=True, slots=True)
class Block:
    """A server block with at least one label. Bad labels have no address."""

    labels: tuple[Token, ...]
    addresses: tuple[tuple[Token, ZoneAddress], ...]
    directives: Mapping[str, tuple[Use, ...]]

    @property
    def place(self) -> Token:
        """Where things are said that concern the whole block."""
        return self.labels[0]

    @property
    def zones(self) -> tuple[str, ...]:
        """Its zones, absolute and in lower case."""
        return tuple(address.zone for _, address in self.addresses)

    def uses(self, name: str) -> tuple[Use, ...]:
        """The occurrences of a directive."""
        return self.directives.get(name, ())

    def first(self, name: str) -> Use | None:
        """The first occurrence of a directive."""
        return next(iter(self.uses(name)), None)

    def has(self, *names: str) -> bool:
        """Whether any of the directives is there."""
        return any(name in self.directives for name in names)

    @property
    def everything(self) -> Iterator[tuple[str, Use]]:
        """Every occurrence with its directive's name."""
        return ((name, use) for name, uses in self.directives.items() for use in uses)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known from outside the Corefile; what is unknown gives no advice.

    `order` are all directives in their order. `resolvers` has the name servers of files in the form of resolv.conf by
    path as the Corefile writes it, `modes` the permission bits of files by path with `root` applied. `environment` are
    the names of the variables that are set. `warnings` are what plugins say while they are set up, and `missing` what
    cannot be judged because a file is not on this machine, each with its place.
    """

    order: tuple[str, ...] = ()
    resolvers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    modes: Mapping[str, int] = field(default_factory=dict)
    environment: frozenset[str] | None = None
    warnings: tuple[tuple[Token, str], ...] = ()
    missing: tuple[tuple[Token, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """The blocks in file order, the facts, and the texts of the files read by name as tokens carry it."""

    blocks: tuple[Block, ...]
    facts: Facts = Facts()
    texts: Mapping[str, str] = field(default_factory=dict)

    def using(self, *names: str) -> Iterator[Block]:
        """The blocks with any of the directives."""
        return (block for block in self.blocks if block.has(*names))

    def uses(self, *names: str) -> Iterator[tuple[Block, Use]]:
        """Every occurrence of these directives, with its block."""
        return ((block, use) for block in self.blocks for name in names for use in block.uses(name))


def take_apart(corefile: Corefile, port: str) -> tuple[Block, ...]:
    """The blocks of a Corefile that have labels; `port` is that of labels without one."""
    return tuple(_block(block, port) for block in corefile.blocks if block.labels)


def _block(block: ServerBlock, port: str) -> Block:
    directives = {directive.name: tuple(_uses(directive)) for directive in block.directives}
    return Block(block.labels, tuple(_addresses(block.labels, port)), directives)


def _addresses(labels: Iterable[Token], port: str) -> Iterator[tuple[Token, ZoneAddress]]:
    for label in labels:
        try:
            addresses = parse_label(label.text, port) if label.text else []
        except CorefileError:
            continue
        yield from ((label, address) for address in addresses)


def _uses(directive: Directive) -> Iterator[Use]:
    cursor = Cursor(directive)
    while cursor.next():
        name = cursor.token
        args = _rest_of_line(cursor)
        options = []
        while cursor.next_block():
            option = cursor.token
            options.append(Option(option, _rest_of_line(cursor)))
        yield Use(name, args, tuple(options))


def _rest_of_line(cursor: Cursor) -> tuple[Token, ...]:
    """As `Cursor.remaining_args`, with the places."""
    start = cursor.position + 1
    count = len(cursor.remaining_args())
    return cursor.tokens[start : start + count]
