"""The `waypost` command: CoreDNS's flags as they stand in existing Deployments, and our own commands beside them.

Each command's module is imported only when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

COMMANDS = {
    "serve": "serve DNS from a Corefile",
    "check": "find the errors of a Corefile, and give advice; start nothing",
    "fmt": "print a Corefile in canonical form",
    "migrate": "bring an older Corefile, or kube-dns's ConfigMap, up to date",
    "cache": "list or flush what the caches of a running server hold",
    "config": "show which configuration a running server serves",
    "resolvconf": "print the resolv.conf that the kubelet writes for a pod",
    "cascade": "show the queries that a resolver sends for a name",
    "explain": "show how a name resolves for a pod, and why",
    "query": "ask for a name as a pod does",
    "dns-ip": "print the address that kubeadm gives to cluster DNS",
    "manifests": "print the Kubernetes objects that run Waypost in a cluster",
    "autoscale": "keep replicas in proportion to the cluster; plan: show what parameters give",
    "node-cache": "serve DNS on a node's own addresses, and lead its packets there while that answers",
    "doctor": "look over a cluster's DNS: what is wrong, the evidence, the remedy",
    "logs": "report what query logs tell",
    "plugins": "list the directives in their fixed order",
    "completion": "print a completion script for bash, zsh or fish",
    "version": "print the version",
}
_USAGE = """\
Usage: waypost [flags]           serve, with CoreDNS's flags (waypost -help lists them)
       waypost COMMAND [...]     one of:

{commands}

waypost COMMAND --help says more.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and words[0] in COMMANDS:
            return int(import_module(f"waypost.cli.{words[0].replace('-', '_')}").main(words[1:]))
        if words[:1] in (["--help"], ["help"]):
            print(usage(), end="")
            return 0
        if words and not words[0].startswith("-"):
            print(f"waypost: no command '{words[0]}'\n\n{usage()}", file=sys.stderr, end="")
            return 2
        return int(import_module("waypost.cli.coredns").main(words))
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return 130


def usage() -> str:
    """The list of commands."""
    return _USAGE.format(commands="\n".join(f"  {name:<12}{text}" for name, text in COMMANDS.items()))


if __name__ == "__main__":
    sys.exit(main())
