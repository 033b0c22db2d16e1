"""What may stand on the command line, read from the parsers of the commands themselves."""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

_FILES: Final = ("DIR", "FILE", "FOLDER", "PATH")
PACKAGE: Final = "waypost.cli"


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand for a value: one of `choices`, or the name of a file, or (neither) what nobody can guess."""

    choices: tuple[str, ...] = ()
    files: bool = False


@dataclass(frozen=True, slots=True)
class Flag:
    """An option. Without a value it is a switch."""

    names: tuple[str, ...]
    help: str
    value: Value | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A command, its `words` behind `waypost` (two for `autoscale plan`)."""

    words: tuple[str, ...]
    help: str
    flags: tuple[Flag, ...] = ()
    arguments: tuple[Value, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every spelling of every option."""
        return tuple(name for flag in self.flags for name in flag.names)


def describe(commands: Mapping[str, str]) -> list[Command]:
    """The commands of `main.COMMANDS`, each followed by those below it."""
    return [found for name, text in commands.items() for found in _with_those_below(name, text)]


def _with_those_below(name: str, text: str) -> Iterator[Command]:
    module = name.replace("-", "_")
    yield _command((name,), text, import_module(f"{PACKAGE}.{module}").make_parser())
    for found in pkgutil.iter_modules(import_module(PACKAGE).__path__):
        if found.name.startswith(f"{module}_"):
            make_parser = getattr(import_module(f"{PACKAGE}.{found.name}"), "make_parser", None)
            if make_parser is not None:
                parser: argparse.ArgumentParser = make_parser()
                yield _command(tuple(parser.prog.split()[1:]), parser.description or "", parser)


def _command(words: tuple[str, ...], text: str, parser: argparse.ArgumentParser) -> Command:
    flags, arguments = [], []
    for action in parser._actions:  # argparse has no other way to tell them
        value = _value(action)
        if not action.option_strings:
            arguments.append(value)
        elif action.help != argparse.SUPPRESS:
            takes = action.nargs != 0
            flags.append(Flag(tuple(action.option_strings), _one_line(parser, action), value if takes else None))
    return Command(words, text, tuple(flags), tuple(arguments))


def _value(action: argparse.Action) -> Value:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    return Value(choices, not choices and metavar.startswith(_FILES))


def _one_line(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    text = parser._get_formatter()._expand_help(action) if action.help else ""
    return " ".join(text.split())
