"""Completion for bash 3.2 and later."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from waypost.cli.shells.words import Command, Flag, Value

_SCRIPT: Final = """\
# bash completion for waypost; load it with: source <(waypost completion bash)
_waypost() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
    local IFS=$'\\n'
    COMPREPLY=()
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${{COMP_WORDS[COMP_CWORD-2]}}
    fi
    if (( COMP_CWORD == 1 )); then
        _waypost_words "$cur" {first}
        return
    fi
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{below}
    esac
    case $command in
{commands}
    esac
}}

_waypost_words() {{
    local cur=$1 word
    shift
    for word; do
        [[ $word == "$cur"* ]] && COMPREPLY+=("$word")
    done
}}

_waypost_files() {{
    COMPREPLY=($(compgen -f -- "$1"))
}}

complete -o filenames -F _waypost waypost
"""


def script(commands: Sequence[Command], flags: Sequence[Flag]) -> str:
    """The script; `flags` are those without a command."""
    first = [*(command.words[0] for command in commands if len(command.words) == 1), *_names(flags)]
    below = [command for command in commands if len(command.words) > 1]
    rest = [line for command in commands for line in _case(command, commands)]
    rest += _flags_case("-*", flags, _names(flags), [])
    return _SCRIPT.format(
        first=_quoted(first),
        below="\n".join(f'        "{" ".join(each.words)}") command="{" ".join(each.words)}" ;;' for each in below),
        commands="\n".join(rest),
    )


def _case(command: Command, commands: Sequence[Command]) -> Iterator[str]:
    below = [each.words[1] for each in commands if len(each.words) == 2 and each.words[0] == command.words[0]]
    values = [*([Value(tuple(below))] if below and len(command.words) == 1 else []), *command.arguments]
    return _flags_case(f'"{" ".join(command.words)}"', command.flags, command.names, values)


def _flags_case(pattern: str, flags: Iterable[Flag], names: Iterable[str], values: Iterable[Value]) -> Iterator[str]:
    yield f"        {pattern})"
    yield "            case $prev in"
    for flag in flags:
        if flag.value is not None:
            yield f"                {'|'.join(flag.names)}) {_complete([flag.value])}return ;;"
    yield "            esac"
    yield "            if [[ $cur == -* ]]; then"
    yield f'                _waypost_words "$cur" {_quoted(names)}'
    yield "            else"
    yield f"                {_complete(values)}:"
    yield "            fi"
    yield "            ;;"


def _complete(values: Iterable[Value]) -> str:
    """Commands, each with its `;`, that offer what may stand there."""
    found = list(values)
    choices = [choice for value in found for choice in value.choices]
    files = '_waypost_files "$cur"; ' if any(value.files for value in found) else ""
    return files + (f'_waypost_words "$cur" {_quoted(choices)}; ' if choices else "")


def _names(flags: Iterable[Flag]) -> list[str]:
    return [name for flag in flags for name in flag.names]


def _quoted(words: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, words))
