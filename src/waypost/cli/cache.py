"""`waypost cache`: list or flush what the caches of a running server hold, through its admin endpoint."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from waypost.cli.admin import AdminError, add_options, ask, failed, print_json
from waypost.cli.table import print_table

_EPILOG = """\
exit code: 0 done, 1 the endpoint does not answer or refuses, 2 wrong usage

examples:
  waypost cache list                                 every entry, the first 1000
  waypost cache list web.shop.svc.cluster.local      every type of one name
  waypost cache list --zone example.org --limit 50   a zone: the name and what is below
  waypost cache flush www.example.org                forget one name
  waypost cache flush --zone example.org             forget a zone
  waypost cache flush                                forget everything
  kubectl -n kube-system exec deploy/coredns -- waypost cache list -o json
"""
_COLUMNS = ("name", "type", "rcode", "kind", "ttl", "age", "records", "flags")
_FLAGS = ("do", "cd", "stale")


def main(words: Sequence[str]) -> int:
    """List or flush."""
    parser = make_parser()
    options = parser.parse_intermixed_args(words)  # NAME may come behind options
    if options.zone and not options.name:
        parser.error("--zone needs the name of a zone")
    chosen = {"zone" if options.zone else "name": options.name} if options.name else {}
    try:
        return _flush(options, chosen) if options.action == "flush" else _list(options, chosen)
    except AdminError as exc:
        return failed(exc)


def _list(options: argparse.Namespace, chosen: dict[str, str]) -> int:
    answer = ask("GET", options.admin, "/cache", limit=str(options.limit), **chosen)
    if options.output == "json":
        print_json(answer.value)
    elif answer.value:
        print_table(_COLUMNS, [_row(entry) for entry in answer.value])
    else:
        print("no entries", file=sys.stderr)
    if answer.total > len(answer.value):
        print(f"{len(answer.value)} of {answer.total} entries; --limit shows more", file=sys.stderr)
    return 0


def _flush(options: argparse.Namespace, chosen: dict[str, str]) -> int:
    answer = ask("POST", options.admin, "/cache/flush", **chosen)
    if options.output == "json":
        print_json(answer.value)
    else:
        count = answer.value["flushed"]
        print(f"{count} {'entry' if count == 1 else 'entries'} flushed")
    return 0


def _row(entry: dict[str, str | int]) -> list[str]:
    """The columns of one entry; the class is shown by the few that are not of class IN."""
    flags = [flag for flag in _FLAGS if entry[flag]]
    if entry["class"] != "IN":
        flags.append(f"class={entry['class']}")
    return [*(str(entry[column]) for column in _COLUMNS[:-1]), ",".join(flags) or "-"]


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost cache",
        description="List or flush what the caches of a running server hold.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("list", "flush"))
    parser.add_argument("name", nargs="?", default="", metavar="NAME", help="a name, with or without the final dot")
    parser.add_argument("--zone", action="store_true", help="NAME is a zone: take the names below it too")
    parser.add_argument("--limit", type=int, default=1000, metavar="N", help="list so many entries (default: 1000)")
    add_options(parser)
    return parser
