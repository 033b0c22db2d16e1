"""Completion for zsh."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from waypost.cli.shells.words import Command, Flag, Value

_SCRIPT: Final = """\
#compdef waypost
# zsh completion for waypost; put it into a folder of $fpath as _waypost, or: source <(waypost completion zsh)
_waypost() {{
    local -a commands
    commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        if [[ $words[2] == -* ]]; then
            _arguments{flags}
        else
            _describe command commands
        fi
        return
    fi
    case "$words[2] $words[3]" in
{below}
    esac
    case $words[2] in
{commands}
        -*)
            _arguments{flags}
            ;;
    esac
}}

if [[ $funcstack[1] == _waypost ]]; then
    _waypost "$@"
else
    compdef _waypost waypost
fi
"""
_SPECIAL: Final = re.compile(r"([\[\]:\\])")


def script(commands: Sequence[Command], flags: Sequence[Flag]) -> str:
    """The script; `flags` are those without a command."""
    single = [command for command in commands if len(command.words) == 1]
    below = [command for command in commands if len(command.words) > 1]
    return _SCRIPT.format(
        names="\n".join(f"        {_quoted(f'{each.words[0]}:{each.help}')}" for each in single),
        flags=_specs(map(_flag, flags)),
        below="\n".join(line for each in below for line in _case(f'"{" ".join(each.words)}"', each, 2, [])),
        commands="\n".join(line for each in single for line in _case(each.words[0], each, 1, _below(each, below))),
    )


def _below(command: Command, below: Iterable[Command]) -> list[Value]:
    words = tuple(each.words[1] for each in below if each.words[0] == command.words[0])
    return [Value(words)] if words else []


def _case(pattern: str, command: Command, depth: int, first: list[Value]) -> Iterator[str]:
    yield f"        {pattern})"
    yield f"            shift {depth} words; (( CURRENT -= {depth} ))"
    arguments = [f"*: :{_values([*first, *command.arguments])}"] if first or command.arguments else []
    yield f"            _arguments{_specs([*map(_flag, command.flags), *map(_quoted, arguments)])}"
    yield "            return"
    yield "            ;;"


def _flag(flag: Flag) -> str:
    """A spec of `_arguments`: the names exclude each other, braces make one spec of each."""
    value = f": :{_values([flag.value])}" if flag.value is not None else ""
    explained = _SPECIAL.sub(r"\\\1", flag.help)
    text = _quoted(f"[{explained}]{value}")
    if len(flag.names) == 1:
        return f"{flag.names[0]}{text}"
    return f"'({' '.join(flag.names)})'{{{','.join(flag.names)}}}{text}"


def _values(values: Iterable[Value]) -> str:
    found = list(values)
    choices = [choice for value in found for choice in value.choices]
    if choices:
        return f"({' '.join(choices)})"
    return "_files" if any(value.files for value in found) else " "


def _specs(specs: Iterable[str]) -> str:
    return "".join(f" \\\n                {spec}" for spec in specs)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
