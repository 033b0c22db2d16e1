"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from waypost.cli.shells.words import Command, Flag, Value

_HEAD = "# fish completion for waypost; load it with: waypost completion fish | source\ncomplete -c waypost -f\n"


def script(commands: Sequence[Command], flags: Sequence[Flag]) -> str:
    """The script; `flags` are those without a command."""
    lines = []
    for command in commands:
        first, *more = command.words
        condition = f"__fish_seen_subcommand_from {more[0]}" if more else ""
        before = f"__fish_seen_subcommand_from {first}; and not {condition}" if more else "__fish_use_subcommand"
        lines.append(f"complete -c waypost -n {_quoted(before)} -a {command.words[-1]} -d {_quoted(command.help)}")
        below = " ".join(each.words[1] for each in commands if len(each.words) > 1 and each.words[0] == first)
        other = f"; and not __fish_seen_subcommand_from {below}" if below else ""
        here = f"__fish_seen_subcommand_from {first}" + (f"; and {condition}" if more else other)
        lines += [_flag(here, flag) for flag in command.flags]
        lines += _arguments(here, command.arguments)
    lines += [_flag("__fish_use_subcommand", flag) for flag in flags]
    return _HEAD + "\n".join(lines) + "\n"


def _flag(condition: str, flag: Flag) -> str:
    parts = [f"complete -c waypost -n {_quoted(condition)}"]
    for name in flag.names:
        if name.startswith("--"):
            parts.append(f"-l {name[2:]}")
        else:
            parts.append(f"-{'s' if len(name) == 2 else 'o'} {name[1:]}")
    if flag.value is not None:
        parts.append(_value(flag.value))
    if flag.help:
        parts.append(f"-d {_quoted(flag.help)}")
    return " ".join(parts)


def _value(value: Value) -> str:
    if value.choices:
        return f"-x -a {_quoted(' '.join(value.choices))}"
    return "-r -F" if value.files else "-x"


def _arguments(condition: str, values: Iterable[Value]) -> Iterator[str]:
    for value in values:
        if value.choices:
            yield f"complete -c waypost -n {_quoted(condition)} -a {_quoted(' '.join(value.choices))}"
        elif value.files:
            yield f"complete -c waypost -n {_quoted(condition)} -F"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
