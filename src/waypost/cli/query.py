"""`waypost query`: ask for a name as a pod does, and print the answer in dig's way."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from waypost.cli.asking import (
    add_corefile,
    add_question,
    add_scene,
    check_corefile,
    corefile_server,
    lookup_of,
    read_scene,
)
from waypost.cli.paint import print_lines
from waypost.cli.podside import InputError, Refused, print_failure, print_json
from waypost.cli.world import add_world_options, check_world, server_address
from waypost.podside.cascade import cascade
from waypost.podside.nodefile import NodeFileError
from waypost.podside.resolvers.lookup import Lookup
from waypost.podside.resolvers.transcript import TooManyQueries

if TYPE_CHECKING:
    from waypost.cli.answered import Asker

_EPILOG: Final = """\
exit code: 0 there is a response, whatever it says (NXDOMAIN too), 1 there is none or a file is not usable, 2 usage

examples:
  waypost query web.shop.svc.cluster.local --server 10.96.0.10
  waypost query web.shop --search --from default/ --server 127.0.0.1:1053
  waypost query web --search --from deploy.yaml --conf Corefile --manifests deploy/
  waypost query _http._tcp.web.shop.svc.cluster.local SRV --example
  waypost query 10.244.1.7 PTR --server 10.96.0.10 --short
  waypost query web.shop --search --resolv-conf /etc/resolv.conf -o json
"""


def main(words: Sequence[str]) -> int:
    """Print the response."""
    parser = make_parser()
    options = parser.parse_intermixed_args(words)
    check_world(parser, options)
    check_corefile(parser, options)
    if options.server is not None and (options.conf or options.example):
        parser.error("--server asks a live server, which has a Corefile of its own")
    options.type = options.type or "A"
    try:
        scene = read_scene(options)
        with _asker(options, scene.client) as asker:
            return _query(options, lookup_of(options, scene.world, search=options.search), asker)
    except (InputError, NodeFileError, Refused, TooManyQueries) as exc:
        return print_failure(exc, options.output)


def _query(options: argparse.Namespace, lookup: Lookup, asker: Asker) -> int:
    from waypost.cli.answered import as_json, chosen, lines, short_lines

    if options.tcp:
        lookup = replace(lookup, resolv_conf=f"{lookup.resolv_conf.rstrip()}\noptions use-vc\n")
    made = cascade(lookup, "glibc", asker)
    shown = chosen(asker.answered, made.name)
    if options.output == "json":
        print_json(as_json(shown, asker.answered))
    elif options.short:
        print_lines(short_lines(shown))
    else:
        print_lines(lines(lookup.name, shown, asker.answered))
    return 1 if shown is not None and shown.message is None else 0


@contextmanager
def _asker(options: argparse.Namespace, client: str) -> Iterator[Asker]:
    """What asks. Raises InputError."""
    from waypost.cli.answered import Asker, InProcess, Live

    if options.conf is None and not options.example:
        yield Asker(Live(*options.server) if options.server is not None else Live())
        return
    with corefile_server(options, client) as server:
        yield Asker(InProcess(server))


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost query",
        description="Ask for a name as a pod does, with its search list if wanted, and print the response as dig does.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_question(parser, "A")
    add_scene(parser)
    parser.add_argument("--search", action="store_true", help="walk the pod's search list, as its resolver does")
    parser.add_argument(
        "--server", type=server_address, metavar="ADDR",
        help="ask this server: ADDR, ADDR:PORT (default: those of the pod's resolv.conf)",
    )  # fmt: skip
    parser.add_argument("--tcp", action="store_true", help="ask over TCP (default: UDP, and TCP for what is truncated)")
    parser.add_argument("--short", action="store_true", help="print the data of the answer's records only")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    add_corefile(parser)
    add_world_options(parser)
    return parser
