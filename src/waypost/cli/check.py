"""`waypost check`: read a Corefile and set up every plugin, without opening a socket or asking an API server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from waypost.cli.coredns import port_number
from waypost.control.files import Source
from waypost.control.supervisor import Settings, Supervisor
from waypost.corefile.errors import CorefileError
from waypost.log import Log

_EPILOG = """\
exit code: 0 it would start, 1 it would not (the reason is on standard error), 2 wrong usage

examples:
  waypost check /etc/coredns/Corefile
  kubectl -n kube-system get cm coredns -o jsonpath='{.data.Corefile}' | waypost check stdin
"""


def main(words: Sequence[str]) -> int:
    """Print what is wrong, or that nothing is."""
    parser = argparse.ArgumentParser(
        prog="waypost check",
        description="Read a Corefile and set up every plugin; nothing is started, no server is asked.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("corefile", metavar="COREFILE", help="the file, or stdin")
    parser.add_argument("--port", default="53", help="port of blocks that name none (default: 53)")
    options = parser.parse_args(words)
    try:
        port = port_number(options.port)
    except OSError as exc:
        parser.error(f"--port: {exc}")
    settings = Settings(Source.named(options.corefile), port)
    try:
        supervisor = Supervisor(settings, Log(sys.stderr), lambda code: None)
        corefile, digest = supervisor.read()
        for warning in corefile.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        instance = supervisor.prepare(corefile, digest)
    except (CorefileError, OSError) as exc:
        print(exc, file=sys.stderr)
        return 1
    blocks = len(instance.plan.sites)
    print(f"{options.corefile}: {blocks} server block{'s' if blocks != 1 else ''}, no errors")
    return 0
