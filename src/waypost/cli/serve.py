"""`waypost serve`: serve DNS from a Corefile, with a cluster from manifests if asked."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from waypost.cli.ports import port_number
from waypost.corefile.addresses import is_ip, parse_port, split_host_port

if TYPE_CHECKING:
    from waypost.control.build import Listen

_EPILOG = """\
examples:
  waypost serve --example
  waypost serve --conf Corefile --port 1053
  waypost serve --conf Corefile --port 1053 --manifests deploy/ more.yaml
  kubectl get ns,svc,endpointslices,pods -A -o yaml > dump.yaml
  waypost serve --conf Corefile --port 1053 --manifests dump.yaml
"""


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost serve",
        description="Serve DNS from a Corefile.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--conf", default="", metavar="FILE", help="Corefile, or stdin (default: ./Corefile)")
    parser.add_argument(
        "--example", action="store_true",
        help="serve the bundled example cluster with the stock kubeadm Corefile on 127.0.0.1:1053",
    )  # fmt: skip
    parser.add_argument(
        "--listen", metavar="HOST:PORT",
        help="address of blocks without bind, and port of those on 53: for a Corefile meant for a pod",
    )  # fmt: skip
    parser.add_argument("--port", default="53", help="port of blocks that name none (default: 53)")
    parser.add_argument(
        "--manifests", nargs="+", default=(), metavar="PATH",
        help="files or folders of manifests that are the cluster, for kubernetes blocks that name no other source",
    )  # fmt: skip
    parser.add_argument("--pidfile", default="", metavar="FILE", help="write the process id there")
    parser.add_argument("--quiet", action="store_true", help="print no banner")
    return parser


def main(words: Sequence[str]) -> int:
    """Serve until a signal ends it."""
    parser = make_parser()
    options = parser.parse_args(words)
    try:
        port = port_number(options.port)
    except OSError as exc:
        parser.error(f"--port: {exc}")
    for path in options.manifests:
        if not Path(path).exists():
            parser.error(f"--manifests: no file or folder '{path}'")
    from waypost.cli import example  # the whole server: only who serves pays for it
    from waypost.control.build import Listen
    from waypost.control.files import Source
    from waypost.control.run import Process, serve
    from waypost.control.supervisor import Settings

    settings = Settings(Source.named(options.conf), port, tuple(options.manifests), _listen(parser, options.listen))
    process = Process(options.pidfile, options.quiet)
    if options.example:
        settings = replace(
            settings,
            source=Source(options.conf or str(example.COREFILE)),
            manifests=settings.manifests or (str(example.FOLDER),),
            listen=settings.listen or Listen("127.0.0.1", "1053"),
        )
        process = replace(process, announce="" if options.manifests else example.announcement(settings.listen))
    code = serve(settings, process)
    if code == 1 and options.example and not options.conf:
        print(example.HINT, file=sys.stderr)
    return code


def _listen(parser: argparse.ArgumentParser, text: str | None) -> Listen | None:
    if text is None:
        return None
    try:
        host, port = split_host_port(text)
        parse_port(port)
    except ValueError as exc:
        parser.error(f"--listen: {exc}")
    if not is_ip(host):
        parser.error(f"--listen: expected an address such as 127.0.0.1:1053, got '{text}'")
    from waypost.control.build import Listen

    return Listen(host, port)
