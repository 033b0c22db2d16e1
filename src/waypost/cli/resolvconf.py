"""`waypost resolvconf`: the resolv.conf that the kubelet has written for a pod."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from waypost.cli.podside import (
    InputError,
    Refused,
    add_options,
    print_failure,
    print_json,
    print_warnings,
    read_options,
)
from waypost.podside.nodefile import NodeFileError
from waypost.podside.resolvconf import check_node_file

_EPILOG = """\
exit code: 0 done, 1 the pod would not start, or a file cannot be used, 2 wrong usage

examples:
  waypost resolvconf --pod deploy.yaml
  waypost resolvconf --namespace shop --node-resolv-conf none
  kubectl get pod web-0 -o yaml | waypost resolvconf --pod - --kubelet-config /var/lib/kubelet/config.yaml
  waypost resolvconf --pod deploy.yaml --kubelet-config kubelet.yaml --node-resolv-conf node.conf -o json
"""


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost resolvconf",
        description="Print the resolv.conf that the kubelet has written for a pod, and its warnings.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    parser.add_argument(
        "--check-node", action="store_true", help="add the warning of the kubelet's check of the node's file at start"
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser


def main(words: Sequence[str]) -> int:
    """Print the file, and the kubelet's warnings on standard error."""
    options = make_parser().parse_args(words)
    try:
        given = read_options(options)
        checked = check_node_file(given.kubelet, given.node_file) if options.check_node else ()
        conf = given.resolv_conf()
    except (InputError, NodeFileError, Refused) as exc:
        return print_failure(exc, options.output)
    events = (*checked, *conf.events)
    if options.output == "json":
        print_json(
            {
                "nameservers": conf.nameservers,
                "searches": conf.searches,
                "options": conf.options,
                "events": [event._asdict() for event in events],
            }
        )
        return 0
    sys.stdout.flush()
    sys.stdout.buffer.write(conf.text().encode("utf-8", "surrogateescape"))
    print_warnings(given, events)
    return 0
