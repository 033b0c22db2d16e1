"""`waypost completion`: a script with which a shell completes the commands and their options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

_EPILOG = """\
examples:
  source <(waypost completion bash)
  waypost completion bash > /etc/bash_completion.d/waypost
  waypost completion zsh > ~/.zfunc/_waypost
  waypost completion fish > ~/.config/fish/completions/waypost.fish
"""


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost completion",
        description="Print a script with which a shell completes waypost's commands, options and their values.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))
    return parser


def main(words: Sequence[str]) -> int:
    """Print the script."""
    options = make_parser().parse_args(words)
    from importlib import import_module

    from waypost.cli.coredns import FLAGS
    from waypost.cli.main import COMMANDS
    from waypost.cli.shells.words import Flag, Value, describe

    flags = [Flag((f"-{name}",), text, Value(files=files) if takes else None) for name, text, takes, files in FLAGS]
    shell = import_module(f"waypost.cli.shells.{options.shell}")
    print(shell.script(describe(COMMANDS), flags), end="")
    return 0
