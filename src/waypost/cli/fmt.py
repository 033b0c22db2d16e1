"""`waypost fmt`: Corefiles in canonical form."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_EPILOG = """\
Words, comments, import lines and variables stay as they are; a formatted Corefile says the same.

exit code: 0 done, 1 a file cannot be formatted (or, with --check, is not formatted), 2 wrong usage

examples:
  waypost fmt Corefile
  waypost fmt -w Corefile custom/*.server
  waypost fmt --check --diff Corefile
  kubectl -n kube-system get cm coredns -o jsonpath='{.data.Corefile}' | waypost fmt --sort
"""
_STDIN: Final = "-"
_STDIN_NAME: Final = "/dev/stdin"


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost fmt",
        description="Print Corefiles in canonical form: indentation, blanks, braces, quotes.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="Corefiles; - is standard input, and the default")
    parser.add_argument("-w", "--write", action="store_true", help="write the files instead of printing them")
    parser.add_argument("--check", action="store_true", help="print nothing but the names of files that would change")
    parser.add_argument("--diff", action="store_true", help="print what would change")
    parser.add_argument(
        "--sort", action="store_true", help="put the directives of each block in the order in which they run"
    )
    return parser


def main(words: Sequence[str]) -> int:
    """Format each file; one that cannot be does not keep others from it."""
    parser = make_parser()
    options = parser.parse_args(words)
    files = options.files or [_STDIN]
    if options.write and (_STDIN in files or options.check or options.diff):
        parser.error("-w writes files: it goes neither with standard input nor with --check or --diff")
    return max(_format(path, options) for path in files)


def _format(path: str, options: argparse.Namespace) -> int:
    from waypost.corefile.errors import CorefileError
    from waypost.corefile.format import format_corefile

    name = _STDIN_NAME if path == _STDIN else path
    try:
        text = _read(path)
        formatted = format_corefile(text, name, _order() if options.sort else ())
        if options.write:
            if formatted != text:
                _write(path, formatted)
        elif options.check or options.diff:
            return _compare(name, text, formatted, options)
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(formatted.encode("utf-8", "surrogateescape"))
            sys.stdout.buffer.flush()
    except CorefileError as exc:
        _complain(f"{exc.file}:{exc.line}:{exc.column}: {exc.text}")
        return 1
    except (OSError, ValueError) as exc:
        _complain(f"{name}: {getattr(exc, 'strerror', None) or exc}")
        return 1
    return 0


def _compare(name: str, text: str, formatted: str, options: argparse.Namespace) -> int:
    """Say what would change; gives the exit code."""
    if formatted == text:
        return 0
    if options.diff:
        import difflib

        lines = difflib.unified_diff(
            text.splitlines(keepends=True), formatted.splitlines(keepends=True), name, f"{name} (formatted)"
        )
        for line in lines:
            shown = line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            print(shown.encode("utf-8", "backslashreplace").decode(), end="")
    else:
        print(name.encode("utf-8", "backslashreplace").decode())
    return int(options.check)


def _order() -> tuple[str, ...]:
    """Every directive, those of installed packages too."""
    from waypost.control.catalogue import installed

    return installed().order


def _read(path: str) -> str:
    """Bytes that are not UTF-8 are kept as surrogates. Raises OSError and ValueError."""
    if path == _STDIN:
        return sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if sys.stdin is not None else ""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
        return stream.read()


def _write(path: str, text: str) -> None:
    """Replace the file in one step, whose mode stays; a link stays one. Raises OSError."""
    import tempfile

    path = os.path.realpath(path)
    descriptor, new = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".waypost-")
    try:
        with open(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
            os.fchmod(descriptor, os.stat(path).st_mode & 0o7777)
            stream.write(text)
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise


def _complain(text: str) -> None:
    print(text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr)
