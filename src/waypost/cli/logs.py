"""`waypost logs`: what query logs tell about a cluster's DNS, as text, JSON or a page."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from ipaddress import ip_network
from typing import Final

from waypost.cli.logfiles import LogFiles
from waypost.cli.podside import InputError, print_failure, print_json, print_line
from waypost.cli.table import print_table
from waypost.querylog.formats import DEFAULT, FormatError, Layout, layout_of
from waypost.querylog.lines import LineReader, Match
from waypost.querylog.record import Query
from waypost.querylog.report import Lines, Report
from waypost.querylog.sections import overview, sections
from waypost.querylog.selection import Network, Selection
from waypost.querylog.survey import Pod, Settings, Survey
from waypost.querylog.timestamps import Clock, parse_moment

_EPILOG: Final = """\
exit code: 0 done, 1 a file cannot be used, 2 wrong usage

examples:
  kubectl -n kube-system logs deploy/coredns --timestamps | waypost logs
  waypost logs coredns-a.log coredns-b.log.gz --pods pods.json --since 2h
  waypost logs coredns.log --client 10.244.1.0/24 --zone example.com --top 20
  waypost logs coredns.log -o html > report.html
  waypost logs custom.log --format '{remote} {type} {name} {rcode} {duration}'
"""
_TOP: Final = 10
_PROGRESS_SECONDS: Final = 0.5
_PROGRESS_QUERIES: Final = 20_000


def main(words: Sequence[str]) -> int:
    """Read, count, print the report."""
    parser = make_parser()
    options = parser.parse_args(words)
    import msgspec

    try:
        layout, match = _layout(parser, options.format)
        reader = LineReader(Clock(time.time()), msgspec.json.decode, layout, match)
        settings = Settings(options.cluster_domain, tuple(options.search), _pods(options.pods))
        selection = Selection(options.since, options.until, options.client, options.zone)
        with _collector_off():
            report = _report(LogFiles(options.files, reader), reader, Survey(settings), selection, options.top)
    except InputError as exc:
        return print_failure(exc, options.output)
    if options.output == "json":
        print_json(asdict(report))
    elif options.output == "html":
        from waypost.querylog.page.document import document

        sys.stdout.flush()
        sys.stdout.buffer.write(document(report).encode())
    else:
        _print_text(report)
    return 0


@contextmanager
def _collector_off() -> Iterator[None]:
    """Counting makes no cycles, but many objects for the garbage collector to look through again and again."""
    import gc

    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _report(files: LogFiles, reader: LineReader, survey: Survey, selection: Selection, top: int) -> Report:
    """Read everything. Ctrl-C ends the reading, not the report. Raises InputError."""
    add, holds, everything = survey.add, selection.holds, selection.everything
    outside = 0
    try:
        for query in _with_progress(files.queries()):
            if everything or holds(query):
                add(query)
            else:
                outside += 1
    except KeyboardInterrupt:
        files.notes.append("interrupted; this is what was read until then")
    from waypost.querylog.summary import summarize  # with the resolvers, for advice

    survey.end()
    for note in files.notes:
        print_line(f"waypost: {note}")
    return summarize(survey, Lines(files.lines, outside, dict(reader.passed)), top)


def _with_progress(queries: Iterable[Query]) -> Iterator[Query]:
    """The same queries, with a line on a terminal that says how many there were."""
    if not sys.stderr.isatty():
        yield from queries
        return
    shown = time.monotonic()
    for count, query in enumerate(queries):
        if count % _PROGRESS_QUERIES == 0 and time.monotonic() - shown > _PROGRESS_SECONDS:
            shown = time.monotonic()
            print(f"\r{count:,} queries", end="", file=sys.stderr, flush=True)
        yield query
    print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _print_text(report: Report) -> None:
    for sentence in overview(report):
        print(sentence)
    if report.findings:
        print("\nFINDINGS")
    for finding in report.findings:
        print(f"- {finding.what}\n  {finding.remedy}")
    for section in sections(report):
        print(f"\n{section.title.upper()}")
        for sentence in section.sentences:
            print(sentence)
        if section.rows:
            print_table(section.columns, section.rows)
    if report.left_out:
        print("\nLEFT OUT")
    for left in report.left_out:
        print(f"- {left.part}: {left.why}")


def _layout(parser: argparse.ArgumentParser, text: str | None) -> tuple[Layout, Match | None]:
    """How lines are laid out. A format of the user's own goes to RE2, whose time grows with the line's length alone."""
    if text is None:
        return DEFAULT, None
    import re2

    try:
        layout = layout_of(text)
        return layout, re2.compile(layout.pattern).fullmatch
    except (FormatError, re2.error) as exc:
        parser.error(f"--format: {exc}")


def _pods(paths: Sequence[str]) -> dict[str, Pod]:
    """Pods by address; one that several have is a node's. Raises InputError."""
    if not paths:
        return {}
    from waypost.kube.manifest_files import find, read_files
    from waypost.manifests.addresses import Ranges
    from waypost.manifests.resolve import resolve

    states = read_files(find(paths), {})
    for problem in (problem for state in states.values() for problem in state.problems):
        if not problem.document:
            raise InputError(str(problem))
        print_line(f"warning: {problem}")
    pods: dict[str, Pod] = {}
    for item in resolve([each for state in states.values() for each in state.documents], Ranges()).objects:
        if item["kind"] == "Pod":
            pod = Pod(item["metadata"]["namespace"], item["metadata"]["name"])
            for entry in item["status"]["podIPs"]:
                pods[entry["ip"]] = Pod("", "(host network)") if entry["ip"] in pods else pod
    if not pods:
        raise InputError(f"{', '.join(paths)}: no pod with an address")
    return pods


def _moment(text: str) -> float:
    try:
        return parse_moment(text, time.time())
    except ValueError as exc:
        raise argparse.ArgumentTypeError(str(exc)) from None


def _network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an IP address or network, got '{text}'") from None


def _zone(text: str) -> str:
    return f"{text.strip('.').lower()}."


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= 1000):
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 1000, got '{text}'")
    return int(text)


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost logs",
        description="Report what query logs tell: volume, NXDOMAIN and search lists, names that fail, slow queries, "
        "lost packets, names that look like data.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="logs, gzip or not; - or none is standard input; several are merged by time",
    )
    parser.add_argument(
        "--format", metavar="FORMAT",
        help="of the log directive, for lines in neither common nor combined nor JSON: '{remote} {name} {rcode}'",
    )  # fmt: skip
    cluster = parser.add_argument_group("the cluster")
    cluster.add_argument(
        "--pods", action="append", default=[], metavar="PATH",
        help="a dumped PodList, or files or folders of manifests: says which pod has which address",
    )  # fmt: skip
    cluster.add_argument("--cluster-domain", default="cluster.local", metavar="DOMAIN", help="default: cluster.local")
    cluster.add_argument(
        "--search", action="append", default=[], metavar="DOMAIN", help="a domain that nodes add to the search list"
    )
    chosen = parser.add_argument_group("what is counted (default: everything)")
    moment = "RFC 3339 (UTC without a zone), or a duration before now: 90m, 2h30m"
    chosen.add_argument("--since", type=_moment, metavar="TIME", help=f"from this time on: {moment}")
    chosen.add_argument("--until", type=_moment, metavar="TIME", help="before this time")
    chosen.add_argument(
        "--client", action="append", type=_network, default=[], metavar="IP|CIDR", help="may be repeated"
    )
    chosen.add_argument(
        "--zone", action="append", type=_zone, default=[], metavar="NAME", help="names at or below; may be repeated"
    )
    parser.add_argument("--top", type=_count, default=_TOP, metavar="N", help=f"rows of each table (default: {_TOP})")
    parser.add_argument("-o", "--output", choices=("text", "json", "html"), default="text", help="default: text")
    return parser
