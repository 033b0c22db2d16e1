"""`waypost config`: which configuration a running server serves, from its admin endpoint."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from waypost.cli.admin import AdminError, add_options, ask, failed, print_json

_EPILOG = """\
exit code: 0 done, 1 the endpoint does not answer, 2 wrong usage

examples:
  waypost config
  waypost config --admin 127.0.0.1:9253 -o json
  kubectl -n kube-system exec deploy/coredns -- waypost config
"""


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost config",
        description="Show which configuration a running server serves.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    return parser


def main(words: Sequence[str]) -> int:
    """Print version, digest, files, time of loading, and zones by listen address."""
    options = make_parser().parse_args(words)
    try:
        facts = ask("GET", options.admin, "/config").value
    except AdminError as exc:
        return failed(exc)
    if options.output == "json":
        print_json(facts)
    else:
        print("\n".join(_lines(facts)))
    return 0


def _lines(facts: dict[str, Any]) -> list[str]:
    return [
        f"version  {facts['version']}",
        f"loaded   {facts['loaded']}",
        f"sha512   {facts['sha512']}",
        *(f"file     {file}" for file in facts["files"] or ["(none: the built-in configuration)"]),
        *(f"serves   {server['address']}  {' '.join(server['zones'])}" for server in facts["servers"]),
    ]
