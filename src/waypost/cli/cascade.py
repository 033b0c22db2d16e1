"""`waypost cascade`: the queries that a stub resolver sends for one name, and what they cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from waypost.cli.podside import InputError, Refused, print_failure, print_json, read_text
from waypost.cli.table import print_table
from waypost.cli.world import World, add_world_options, check_world, printable, read_world, server_address
from waypost.podside.advice import advise, existing
from waypost.podside.cascade import RESOLVERS, Cascade, cascade
from waypost.podside.nodefile import NodeFileError
from waypost.podside.replies import Answer, Zone, ZoneError, read_zone
from waypost.podside.resolvers.lookup import FAMILIES
from waypost.podside.resolvers.transcript import TooManyQueries
from waypost.podside.spellings import cluster_target, guessed_target

_EPILOG = """\
exit code: 0 done (whatever the name resolves to), 1 a file or server cannot be used, 2 wrong usage

examples:
  waypost cascade api.example.com --namespace shop
  waypost cascade web.shop --pod deploy.yaml --conf Corefile --manifests deploy/
  waypost cascade web --resolv-conf /etc/resolv.conf --resolver musl --server 10.96.0.10
  waypost cascade web.shop.svc.cluster.local --compare
  waypost cascade api.example.com --answers zone.json -o json
"""


def main(words: Sequence[str]) -> int:
    """Print the queries, or the spellings side by side."""
    parser = make_parser()
    options = parser.parse_args(words)
    if options.manifests and options.conf is None:
        parser.error("--manifests needs --conf")
    check_world(parser, options)
    try:
        world = read_world(options)
        with _answering(options) as answer:
            return _compare(options, world, answer) if options.compare else _show(options, world, answer)
    except (InputError, NodeFileError, Refused, TooManyQueries) as exc:
        return print_failure(exc, options.output)


def _show(options: argparse.Namespace, world: World, answer: Answer | None) -> int:
    lookup = world.lookup(options.name, options.family or "unspec")
    made = cascade(lookup, options.resolver, answer or Zone({}))
    if options.output == "json":
        queries = [[query.name, query.type] for query in made.queries]
        print_json({"queries": queries, "result": made.result, "wasted": made.wasted})
        return 0
    if made.queries:
        print_table(("#", "name", "type", "server", "rcode"), list(_rows(made)))
        print()
    entries = made.conntrack_entries
    print(
        f"{_counted(len(made.queries), 'query', 'queries')}, {made.wasted} useless; "
        f"{_counted(entries, 'conntrack entry', 'conntrack entries')}"
    )
    print(printable(f"result: {' '.join([made.result, *made.addresses])}"))
    for advice in advise(lookup, options.resolver, made):
        print(printable(f"advice: {advice}"))
    return 0


def _rows(made: Cascade) -> Iterator[tuple[str, ...]]:
    for number, query in enumerate(made.queries, 1):
        server = query.server if query.transport == "udp" else f"{query.server} {query.transport}"
        rcode = f"{query.reply}, truncated" if query.truncated else query.reply
        yield str(number), printable(query.name), query.type, server, rcode


def _compare(options: argparse.Namespace, world: World, answer: Answer | None) -> int:
    """The spellings of one target; without anybody to ask the target is the only name that exists."""
    family = options.family or "inet"
    target = guessed_target(options.name, world.domain, world.namespace)
    if answer is not None:
        made = cascade(world.lookup(options.name, family), options.resolver, answer)
        target = cluster_target(made.name, world.domain) if made.result == "addresses" else target
    rows = []
    for spelling in target.spellings(world.namespace):
        lookup = world.lookup(spelling.name, family, spelling.namespace)
        made = cascade(lookup, options.resolver, answer or existing(f"{target.name}.", ("192.0.2.1", "2001:db8::1")))
        rows.append((spelling, made))
    if options.output == "json":
        spellings = [
            {
                "name": spelling.name,
                "namespace": spelling.namespace,
                "queries": len(made.queries),
                "wasted": made.wasted,
                "result": made.result,
            }
            for spelling, made in rows
        ]
        print_json({"target": f"{target.name}.", "spellings": spellings})
        return 0
    cells = [
        (printable(spelling.name), spelling.namespace, str(len(made.queries)), str(made.wasted), made.result)
        for spelling, made in rows
    ]
    print_table(("spelling", "from namespace", "queries", "useless", "result"), cells)
    print(f"\nqueries of type {' and '.join(FAMILIES[family])}, {options.resolver}")
    return 0


@contextmanager
def _answering(options: argparse.Namespace) -> Iterator[Answer | None]:
    """What answers; nothing if no option says. Raises InputError."""
    if options.answers is not None:
        yield _read_answers(options.answers)
    elif options.server is not None:
        from waypost.cli.answers import LiveServer  # dnspython costs more than the rest

        yield LiveServer(*options.server)
    elif options.conf is not None:
        from waypost.cli.answers import CorefileServer
        from waypost.corefile.errors import CorefileError

        try:
            server = CorefileServer(options.conf, tuple(options.manifests))
        except (CorefileError, OSError) as exc:
            raise InputError(str(exc)) from exc
        try:
            yield server
        finally:
            server.close()
    else:
        yield None


def _read_answers(path: str) -> Zone:
    import json

    try:
        return read_zone(json.loads(read_text(path)))
    except (ValueError, RecursionError) as exc:
        raise InputError(f"{path}: not JSON: {exc}") from exc
    except ZoneError as exc:
        raise InputError(f"{path}: {exc}") from exc


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost cascade",
        description="Show which queries a stub resolver sends for a name, in order, and how many of them are useless.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME", help="the name as a program gives it to its resolver")
    parser.add_argument("--resolver", choices=tuple(RESOLVERS), default="glibc", help="default: glibc")
    parser.add_argument(
        "--family", choices=tuple(FAMILIES),
        help="address family asked for: inet is A, inet6 is AAAA (default: unspec, both; inet with --compare)",
    )  # fmt: skip
    parser.add_argument(
        "--compare", action="store_true", help="put the spellings of one target side by side (A queries only)"
    )
    answers = parser.add_argument_group("who answers (default: nobody, every name is NXDOMAIN)")
    source = answers.add_mutually_exclusive_group()
    source.add_argument(
        "--answers",
        metavar="FILE",
        help='JSON: {"NAME./A": {"rcode": "NOERROR", "records": [{"type": "A", "data": ...}]}}',
    )
    source.add_argument("--server", type=server_address, metavar="ADDR", help="ask this server: ADDR, ADDR:PORT")
    source.add_argument("--conf", metavar="FILE", help="run this Corefile in process, without opening a listener")
    answers.add_argument(
        "--manifests", nargs="+", default=(), metavar="PATH", help="files or folders that are the cluster of --conf"
    )
    add_world_options(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser
