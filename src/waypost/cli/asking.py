"""What `explain` and `query` have in common: who asks, for what, and which Corefile answers in this process."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from waypost.cli.podside import InputError, read_named_pod
from waypost.cli.world import World, read_world
from waypost.podside.objects import PodObject
from waypost.podside.resolvers.lookup import Lookup
from waypost.wire import addr, consts, names

if TYPE_CHECKING:
    from waypost.cli.answers import CorefileServer

_LOOPBACK: Final = "127.0.0.1"
_DEFAULT_COREFILE: Final = "Corefile"
_IN_CLUSTER: Final = "in-cluster configuration"
_FAMILIES: Final = {"A": "inet", "AAAA": "inet6"}


class Scene(NamedTuple):
    """The pod's side, and the address that its queries come from."""

    world: World
    client: str


def add_question(parser: argparse.ArgumentParser, default: str) -> None:
    """Add NAME and TYPE; `default` says which type is asked for without."""
    parser.add_argument("name", metavar="NAME", help="as a program gives it to its resolver; for PTR an address too")
    parser.add_argument("type", metavar="TYPE", nargs="?", type=_type, help=f"default: {default}")


def add_scene(parser: argparse.ArgumentParser) -> None:
    """Add who asks."""
    parser.add_argument(
        "--from", dest="asker", metavar="WHO",
        help="who asks: an IP address, a manifest of a pod or workload, or NAMESPACE/NAME of one among --manifests",
    )  # fmt: skip
    parser.add_argument(
        "--client", type=_ip, metavar="IP",
        help=f"the address that queries come from, for acl, view and autopath (default: the pod's, else {_LOOPBACK})",
    )  # fmt: skip


def add_corefile(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the Corefile that answers in this process, and its cluster; gives the group of options."""
    group = parser.add_argument_group("a Corefile in this process, without opening a listener")
    group.add_argument("--conf", metavar="FILE", help="the Corefile")
    group.add_argument("--example", action="store_true", help="the bundled example, Corefile and cluster")
    group.add_argument(
        "--manifests", nargs="+", default=(), metavar="PATH",
        help="files or folders that are the cluster, for kubernetes blocks that name no other source",
    )  # fmt: skip
    group.add_argument(
        "--kubeconfig", metavar="FILE", help="read the cluster of such blocks from the API that this kubeconfig names"
    )
    group.add_argument("--context", default="", metavar="NAME", help="its context (default: the current one)")
    return group


def check_corefile(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Options that do not go together are wrong usage."""
    if options.manifests and options.kubeconfig:
        parser.error("--manifests and --kubeconfig are two clusters")
    if options.context and not options.kubeconfig:
        parser.error("--context needs --kubeconfig")


def read_scene(options: argparse.Namespace) -> Scene:
    """Who asks. Raises InputError, Refused or NodeFileError."""
    pod = _asker(options) if options.asker is not None else None
    world = read_world(options, pod)
    return Scene(world, options.client or world.address or _LOOPBACK)


def lookup_of(options: argparse.Namespace, world: World, *, search: bool) -> Lookup:
    """The question as the pod's resolver is given it; without `search` the name is the whole name."""
    name = options.name
    packed = addr.pack(name) if options.type == "PTR" else None
    if packed is not None:
        name = names.to_text(addr.reverse_name(packed))
    if not search and not name.endswith("."):
        name = f"{name}."
    types = (options.type,) if options.type not in (None, *_FAMILIES) else ()
    return world.lookup(name, _FAMILIES.get(options.type, "unspec"), types=types)


@contextmanager
def corefile_server(options: argparse.Namespace, client: str) -> Iterator[CorefileServer]:
    """The Corefile of the options, asked from an address. Raises InputError."""
    from waypost.cli import example
    from waypost.cli.answers import CorefileServer
    from waypost.corefile.errors import CorefileError

    path, manifests = options.conf, tuple(options.manifests)
    if options.example:
        path = path or str(example.COREFILE)
        manifests = manifests or (() if options.kubeconfig else (str(example.FOLDER),))
    if path is None and not os.path.exists(_DEFAULT_COREFILE):
        raise InputError(f"no file {_DEFAULT_COREFILE} here: name one with --conf, or take --example")
    if missing := next((each for each in manifests if not os.path.exists(each)), None):
        raise InputError(f"--manifests: no file or folder '{missing}'")
    kubeconfig = (options.kubeconfig or "", options.context)
    try:
        server = CorefileServer(path or _DEFAULT_COREFILE, manifests, kubeconfig, client)
    except (CorefileError, OSError) as exc:
        hint = "; --manifests or --kubeconfig names a cluster" if _IN_CLUSTER in str(exc) else ""
        raise InputError(f"{exc}{hint}") from exc
    try:
        yield server
    finally:
        server.close()


def _asker(options: argparse.Namespace) -> PodObject | None:
    """Sort out --from: an address and a manifest set options of their own."""
    asker = options.asker
    if addr.pack(asker) is not None:
        options.client = options.client or asker
        return None
    if asker == "-" or os.path.exists(asker):
        options.pod = asker
        return None
    namespace, slash, name = asker.partition("/")
    if not slash or not namespace or "/" in name:
        raise InputError(f"--from: '{asker}' is no IP address, no file, and not NAMESPACE/NAME")
    options.namespace = namespace
    if not name:
        return None
    from waypost.kube.manifest_files import find

    paths = [path for path, stamp in find(options.manifests).items() if not isinstance(stamp, str)]
    pod = read_named_pod(paths, namespace, name)
    if pod is None:
        where = f"in {' '.join(options.manifests)}" if options.manifests else "without --manifests"
        text = f"no Pod and no workload {asker} {where}; '{namespace}/' stands for any pod of the namespace"
        raise InputError(f"--from: {text}")
    return pod


def _type(text: str) -> str:
    """A record type. Raises ArgumentTypeError."""
    number = consts.type_number(text.upper())
    if number is None:
        raise argparse.ArgumentTypeError(f"no record type '{text}'")
    return consts.type_text(number)


def _ip(text: str) -> str:
    """An IP address. Raises ArgumentTypeError."""
    if addr.pack(text) is None:
        raise argparse.ArgumentTypeError(f"expected an IP address, got '{text}'")
    return text
