"""`waypost cascade`: the queries that a stub resolver sends for one name, and what they cost."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from waypost.cli.podside import (
    InputError,
    Refused,
    add_options,
    print_failure,
    print_json,
    print_warnings,
    read_options,
    read_text,
)
from waypost.cli.table import print_table
from waypost.podside.advice import advise, existing
from waypost.podside.cascade import RESOLVERS, Cascade, cascade
from waypost.podside.nodefile import NodeFileError
from waypost.podside.replies import Answer, Zone, ZoneError, read_zone
from waypost.podside.resolvers.lookup import FAMILIES, Lookup
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
_DEFAULT_DOMAIN: Final = "cluster.local"
_POD_OPTIONS: Final = ("pod", "kubelet_config", "node_resolv_conf", "node_ip", "no_validate")


@dataclass(frozen=True, slots=True)
class World:
    """Where the look-up happens: a resolv.conf for a namespace, the namespace, the cluster domain, the host's name."""

    resolv_conf: Callable[[str], str]
    namespace: str
    domain: str
    hostname: str = ""
    env: Mapping[str, str] = field(default_factory=dict)

    def lookup(self, name: str, family: str, namespace: str = "") -> Lookup:
        """A look-up in the pod, or in its like in another namespace."""
        text = self.resolv_conf(namespace or self.namespace)
        return Lookup(name, text, family, self.hostname, self.env)


def main(words: Sequence[str]) -> int:
    """Print the queries, or the spellings side by side."""
    parser = _parser()
    options = parser.parse_args(words)
    if options.manifests and options.conf is None:
        parser.error("--manifests needs --conf")
    if options.resolv_conf is not None and (idle := [name for name in _POD_OPTIONS if getattr(options, name)]):
        parser.error(f"--resolv-conf takes the place of a pod's, with it --{idle[0].replace('_', '-')} means nothing")
    try:
        world = _world(options)
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
    print(_printable(f"result: {' '.join([made.result, *made.addresses])}"))
    for advice in advise(lookup, options.resolver, made):
        print(_printable(f"advice: {advice}"))
    return 0


def _rows(made: Cascade) -> Iterator[tuple[str, ...]]:
    for number, query in enumerate(made.queries, 1):
        server = query.server if query.transport == "udp" else f"{query.server} {query.transport}"
        rcode = f"{query.reply}, truncated" if query.truncated else query.reply
        yield str(number), _printable(query.name), query.type, server, rcode


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
        (_printable(spelling.name), spelling.namespace, str(len(made.queries)), str(made.wasted), made.result)
        for spelling, made in rows
    ]
    print_table(("spelling", "from namespace", "queries", "useless", "result"), cells)
    print(f"\nqueries of type {' and '.join(FAMILIES[family])}, {options.resolver}")
    return 0


def _world(options: argparse.Namespace) -> World:
    """Raises InputError, Refused or NodeFileError."""
    if options.resolv_conf is not None:
        return _world_of_file(read_text(options.resolv_conf), options.namespace, options.hostname or "")
    given = read_options(options)
    conf = given.resolv_conf()
    if options.output != "json":
        print_warnings(given, conf.events)
    domain = given.kubelet.cluster_domain.removesuffix(".") or _DEFAULT_DOMAIN
    return World(
        lambda namespace: given.resolv_conf(namespace).text(),
        given.pod.dns.namespace,
        domain,
        options.hostname if options.hostname is not None else given.pod.kernel_hostname(domain),
        given.pod.env,
    )


def _world_of_file(text: str, namespace: str, hostname: str) -> World:
    """A file as it is; where it belongs to a pod, its like of another namespace has another first search domain."""
    words = [word for line in text.splitlines() if line.startswith("search") for word in line.split()[1:]]
    own = next((word for word in words if ".svc." in word), "")
    first, _, domain = own.removesuffix(".").partition(".svc.")

    def resolv_conf(other: str) -> str:
        return text.replace(own, own.replace(first, other, 1)) if own and other != first else text

    return World(resolv_conf, first or namespace, domain or _DEFAULT_DOMAIN, hostname)


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


def _server(text: str) -> tuple[str, int]:
    """ADDR, ADDR:PORT or [ADDR]:PORT. Raises ArgumentTypeError."""
    from waypost.corefile.addresses import is_ip, parse_port, split_host_port

    if is_ip(text):
        return text, 53
    try:
        host, port = split_host_port(text)
        if not is_ip(host):
            raise ValueError(f"'{host}' is no IP address")
        return host, parse_port(port)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"expected an address such as 10.96.0.10 or 127.0.0.1:1053: {exc}") from None


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _printable(text: str) -> str:
    """Bytes that are no text, and control characters, escaped."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in shown)


def _parser() -> argparse.ArgumentParser:
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
    parser.add_argument("--hostname", metavar="NAME", help="the host's own name (default: the pod's)")
    parser.add_argument(
        "--compare", action="store_true", help="put the spellings of one target side by side (A queries only)"
    )
    parser.add_argument("--resolv-conf", metavar="FILE", help="use this resolv.conf instead of a pod's")
    answers = parser.add_argument_group("who answers (default: nobody, every name is NXDOMAIN)")
    source = answers.add_mutually_exclusive_group()
    source.add_argument(
        "--answers",
        metavar="FILE",
        help='JSON: {"NAME./A": {"rcode": "NOERROR", "records": [{"type": "A", "data": ...}]}}',
    )
    source.add_argument("--server", type=_server, metavar="ADDR", help="ask this server: ADDR, ADDR:PORT")
    source.add_argument("--conf", metavar="FILE", help="run this Corefile in process, without opening a listener")
    answers.add_argument(
        "--manifests", nargs="+", default=(), metavar="PATH", help="files or folders that are the cluster of --conf"
    )
    add_options(parser)
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser
