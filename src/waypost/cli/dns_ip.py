"""`waypost dns-ip`: the address that kubeadm gives to cluster DNS."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from waypost.podside.dnsip import ServiceSubnetError, dns_ip

_EPILOG = """\
exit code: 0 done, 1 no address can be taken from the range, 2 wrong usage

examples:
  waypost dns-ip 10.96.0.0/12
  waypost dns-ip 192.168.10.0/24,fd03::/112
  waypost dns-ip fd03::/112 -o json
"""


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost dns-ip",
        description="Print the address of cluster DNS: the tenth of the service range, as kubeadm computes it. "
        "With two ranges (dual-stack) it is taken from the first.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("service_cidr", metavar="CIDR[,CIDR]", help="the service range: kubeadm's serviceSubnet")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser


def main(words: Sequence[str]) -> int:
    """Print the tenth address of the first range."""
    options = make_parser().parse_args(words)
    try:
        result, code = {"dns_ip": dns_ip(options.service_cidr)}, 0
    except ServiceSubnetError as exc:
        result, code = {"error": str(exc)}, 1
    if options.output == "json":
        import json

        print(json.dumps(result))
    elif code:
        print(f"waypost: {result['error']}", file=sys.stderr)
    else:
        print(result["dns_ip"])
    return code
