"""`waypost migrate`: an older Corefile, or a ConfigMap of kube-dns, to a Corefile of today."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from waypost.cli.podside import InputError, print_failure, print_line, read_text

if TYPE_CHECKING:
    from waypost.migration.history import Step

_EPILOG = """\
What was changed is said on standard error. Comments and layout are kept.

exit code: 0 done, 1 it cannot be migrated, or --verify found differences, 2 wrong usage

examples:
  waypost migrate Corefile > Corefile.new
  waypost migrate Corefile --from 1.6.2 --diff
  waypost migrate Corefile --verify kubernetes.default.svc.cluster.local www.example.org/AAAA --manifests deploy/
  kubectl -n kube-system get cm kube-dns -o yaml | waypost migrate - --cluster-domain cluster.local
"""
_STDIN: Final = "-"


class Work(NamedTuple):
    """A text under a name: before, after, and before with no more than is required (both empty for kube-dns)."""

    name: str
    before: str
    after: str
    required: str


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost migrate",
        description="Print a Corefile as of today: what is gone is removed, what has another name gets it, what is "
        "advised is added. A ConfigMap of kube-dns becomes a Corefile.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", metavar="FILE",
        help="a Corefile, or a ConfigMap (YAML, JSON) that has a Corefile or kube-dns's settings; - is standard input",
    )  # fmt: skip
    parser.add_argument("--from", dest="older", metavar="VERSION", help="the CoreDNS it was written for (default: any)")
    parser.add_argument(
        "--to", dest="newer", metavar="VERSION", help="only what changed up to this CoreDNS (default: today)"
    )
    parser.add_argument("--required-only", action="store_true", help="add nothing that is only advised")
    parser.add_argument(
        "--cluster-domain", default="cluster.local", metavar="DOMAIN", help="for kube-dns (default: cluster.local)"
    )
    parser.add_argument("--diff", action="store_true", help="print what changes instead of the result")
    parser.add_argument(
        "--verify", nargs="+", default=(), metavar="NAME[/TYPE]",
        help="ask old and new for these names (types A and AAAA if none is given) and print what differs instead",
    )  # fmt: skip
    parser.add_argument(
        "--manifests", nargs="+", default=(), metavar="PATH", help="files or folders that are the cluster of --verify"
    )
    return parser


def main(words: Sequence[str]) -> int:
    """Print the result, the difference, or what would be answered differently."""
    from waypost.migration.history import parse_version

    parser = make_parser()
    options = parser.parse_args(words)
    if options.manifests and not options.verify:
        parser.error("--manifests is the cluster of --verify")
    try:
        versions = [parse_version(text) if text else None for text in (options.older, options.newer)]
    except ValueError as exc:
        parser.error(str(exc))
    try:
        work = _work(options, *versions)
        if options.verify:
            from waypost.cli.migrate_verify import verify

            return verify(work.name, (work.before, work.required, work.after), options.verify, options.manifests)
    except InputError as exc:
        return print_failure(exc, "text")
    sys.stdout.write(_diff(work) if options.diff else work.after)
    return 0


def _work(options: argparse.Namespace, older: tuple[int, ...] | None, newer: tuple[int, ...] | None) -> Work:
    """Read, change and check. Raises InputError."""
    from waypost.corefile.errors import CorefileError
    from waypost.migration.history import OLDEST, steps_between
    from waypost.migration.migrate import migrate

    text = read_text(options.file)
    name = "/dev/stdin" if options.file == _STDIN else options.file
    data = _config_map(text, name)
    if data is not None and "Corefile" not in data:
        return _from_kube_dns(data, name, options.cluster_domain)
    before = text if data is None else str(data["Corefile"])
    steps: list[list[Step]] = [
        steps_between(older or OLDEST, newer, advised=advised) for advised in (not options.required_only, False)
    ]
    try:
        made, required = (migrate(before, name, each) for each in steps)
    except CorefileError as exc:
        raise InputError(str(exc)) from exc
    for notice in made.notices:
        print_line(f"{name}: {notice.text}" if not notice.line else f"{name}: line {notice.line}: {notice.text}")
    if newer is None:  # that of an older release need not start today
        _check(made.text, name)
    return Work(name, before, made.text, required.text)


def _from_kube_dns(data: dict[str, Any], name: str, domain: str) -> Work:
    from waypost.cli.manifests_values import cluster_domain
    from waypost.migration.kubedns import KEYS, KubeDnsError, convert, is_kube_dns

    if not is_kube_dns(data):
        raise InputError(f"{name}: data: expected a Corefile, or kube-dns's {', '.join(KEYS)}")
    try:
        made = convert(data, cluster_domain(domain))
    except KubeDnsError as exc:
        raise InputError(f"{name}: {exc}") from exc
    for notice in made.notices:
        print_line(f"{name}: {notice}")
    _check(made.text, name)
    return Work(name, "", made.text, "")


def _config_map(text: str, name: str) -> dict[str, Any] | None:
    """The data of a ConfigMap; None for what is none, which then is a Corefile."""
    if "ConfigMap" not in text:
        return None
    from waypost.manifests import documents

    values = documents.json_values(text) if name.endswith(".json") else documents.yaml_values(text)
    for _, parsed in values:
        if isinstance(parsed, str):
            return None
        for _, item in documents.objects(parsed):
            if isinstance(item, dict) and item.get("kind") == "ConfigMap":
                data = item.get("data", {})
                if not isinstance(data, dict):
                    raise InputError(f"{name}: data: expected an object")
                return data
    return None


def _check(text: str, name: str) -> None:
    """A result that would not start is not printed. Raises InputError."""
    from waypost.cli.prepared import prepare
    from waypost.corefile.errors import CorefileError

    try:
        prepare(text, name)
    except (CorefileError, OSError) as exc:
        raise InputError(f"the result would not start: {exc}") from exc


def _diff(work: Work) -> str:
    import difflib

    before, after = (text.splitlines(keepends=True) for text in (work.before, work.after))
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in difflib.unified_diff(before, after, work.name, f"{work.name} (migrated)")
    )
