"""`waypost serve`: serve DNS from a Corefile, with a cluster from manifests if asked."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from waypost.cli.coredns import port_number
from waypost.control.files import Source
from waypost.control.run import Process, serve
from waypost.control.supervisor import Settings

_EPILOG = """\
examples:
  waypost serve --conf Corefile --port 1053
  waypost serve --conf Corefile --port 1053 --manifests deploy/ more.yaml
  kubectl get ns,svc,endpointslices,pods -A -o yaml > dump.yaml
  waypost serve --conf Corefile --port 1053 --manifests dump.yaml
"""


def main(words: Sequence[str]) -> int:
    """Serve until a signal ends it."""
    parser = argparse.ArgumentParser(
        prog="waypost serve",
        description="Serve DNS from a Corefile.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--conf", default="", metavar="FILE", help="Corefile, or stdin (default: ./Corefile)")
    parser.add_argument("--port", default="53", help="port of blocks that name none (default: 53)")
    parser.add_argument(
        "--manifests", nargs="+", default=(), metavar="PATH",
        help="files or folders of manifests that are the cluster, for kubernetes blocks that name no other source",
    )  # fmt: skip
    parser.add_argument("--pidfile", default="", metavar="FILE", help="write the process id there")
    parser.add_argument("--quiet", action="store_true", help="print no banner")
    options = parser.parse_args(words)
    try:
        port = port_number(options.port)
    except OSError:
        parser.error(f"--port: no port is called '{options.port}'")
    settings = Settings(Source(options.conf), port, tuple(options.manifests))
    return serve(settings, Process(options.pidfile, options.quiet))
