"""Where a look-up happens, as `cascade`, `explain` and `query` are told: in a pod, or beside a resolv.conf."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from waypost.cli.podside import add_options, print_warnings, read_options, read_text
from waypost.podside.objects import PodObject
from waypost.podside.resolvers.lookup import Lookup

_DEFAULT_DOMAIN: Final = "cluster.local"
_POD_OPTIONS: Final = ("pod", "kubelet_config", "node_resolv_conf", "node_ip", "no_validate")


@dataclass(frozen=True, slots=True)
class World:
    """Where the look-up happens: a resolv.conf for a namespace, the namespace, the cluster domain, the host's name.

    `address` is the pod's, empty if nobody knows it.
    """

    resolv_conf: Callable[[str], str]
    namespace: str
    domain: str
    hostname: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    address: str = ""

    def lookup(self, name: str, family: str, namespace: str = "", types: tuple[str, ...] = ()) -> Lookup:
        """A look-up in the pod, or in its like in another namespace."""
        text = self.resolv_conf(namespace or self.namespace)
        return Lookup(name, text, family, self.hostname, self.env, types)


def add_world_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the pod's side, and a file in place of them."""
    parser.add_argument("--hostname", metavar="NAME", help="the host's own name (default: the pod's)")
    parser.add_argument("--resolv-conf", metavar="FILE", help="use this resolv.conf instead of a pod's")
    add_options(parser)


def check_world(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Options that do not go together are wrong usage."""
    if options.resolv_conf is not None and (idle := [name for name in _POD_OPTIONS if getattr(options, name)]):
        parser.error(f"--resolv-conf takes the place of a pod's, with it --{idle[0].replace('_', '-')} means nothing")


def read_world(options: argparse.Namespace, pod: PodObject | None = None) -> World:
    """What the options say; `pod` takes the place of theirs. Raises InputError, Refused or NodeFileError."""
    if options.resolv_conf is not None:
        return _world_of_file(read_text(options.resolv_conf), options.namespace, options.hostname or "")
    given = read_options(options)
    if pod is not None:
        given = given._replace(pod=pod)
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
        given.pod.address,
    )


def _world_of_file(text: str, namespace: str, hostname: str) -> World:
    """A file as it is; where it belongs to a pod, its like of another namespace has another first search domain."""
    words = [word for line in text.splitlines() if line.startswith("search") for word in line.split()[1:]]
    own = next((word for word in words if ".svc." in word), "")
    first, _, domain = own.removesuffix(".").partition(".svc.")

    def resolv_conf(other: str) -> str:
        return text.replace(own, own.replace(first, other, 1)) if own and other != first else text

    return World(resolv_conf, first or namespace, domain or _DEFAULT_DOMAIN, hostname)


def server_address(text: str) -> tuple[str, int]:
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


def printable(text: str) -> str:
    """Bytes that are no text, and control characters, escaped."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in shown)
