"""`waypost manifests`: the Kubernetes objects that a cluster needs, ready for `kubectl apply -f -`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence

from waypost import __version__
from waypost.addon.bundle import Parts, objects
from waypost.addon.nodelocal import DEFAULT_LOCAL_IP, Mode, NodeLocal
from waypost.addon.settings import DEFAULT_DOMAIN, DEFAULT_REPLICAS, DEFAULT_SERVICE_CIDR, Json, Needs, Settings
from waypost.cli.manifests_values import (
    cluster_domain,
    image,
    local_address,
    replicas,
    service_addresses,
    stub_domain,
    upstream,
)
from waypost.cli.podside import InputError, print_failure, read_text
from waypost.corefile.stock import NODE_RESOLVERS, stock_corefile

_EPILOG = """\
exit code: 0 done, 1 an option's value or the Corefile cannot be used, 2 wrong usage

examples:
  waypost manifests --image registry.example/waypost:0.1.0 | kubectl apply -f -
  waypost manifests --service-cidr 10.43.0.0/16 --cluster-domain cluster.local --upstream 192.0.2.53
  waypost manifests --service-cidr 10.96.0.0/16,fd00:10:96::/112 --dual-stack
  waypost manifests --stub-domain corp.example=192.0.2.1,192.0.2.2 --autoscaler
  kubectl -n kube-system get cm coredns -o jsonpath='{.data.Corefile}' > Corefile
  waypost manifests --corefile Corefile
  waypost manifests --no-server --node-local
  waypost manifests --service-monitor --prometheus-rules --dashboards
  waypost manifests --kustomize deploy
  waypost manifests --chart charts/waypost
"""


def main(words: Sequence[str]) -> int:
    """Print the objects, or write a kustomize base or a chart."""
    parser = make_parser()
    options = parser.parse_args(words)
    _check_usage(parser, options)
    try:
        if options.kustomize is not None or options.chart is not None:
            return _write(options)
        made = objects(_settings(options), _parts(options))
    except InputError as exc:
        return print_failure(exc, "text")
    _print(made, options.output)
    return 0


def _print(made: Sequence[Json], output: str) -> None:
    if output == "json":
        import json

        print(json.dumps({"apiVersion": "v1", "kind": "List", "items": made}, indent=2))
        return
    from waypost.addon.printing import documents

    print(documents(made), end="")


def _write(options: argparse.Namespace) -> int:
    """The folders that this version is delivered with."""
    from waypost.cli.folder import write_files

    if options.chart is not None:
        from waypost.addon.chart import chart_files

        files, folder = chart_files(options.image, __version__), options.chart
    else:
        from waypost.addon.kustomize import kustomize_files

        files, folder = kustomize_files(options.image), options.kustomize
    try:
        write_files(folder, files)
    except OSError as exc:
        raise InputError(f"{exc.filename or folder}: {exc.strerror}") from exc
    print(f"{folder}: {len(files)} files written", file=sys.stderr)
    return 0


def _check_usage(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Options that mean nothing without others, or contradict them."""
    if (options.cilium or options.ipvs or options.local_ip is not None) and not options.node_local:
        parser.error("--cilium, --ipvs and --local-ip need --node-local")
    if options.corefile is not None and (options.upstream or options.stub_domain):
        parser.error("--upstream and --stub-domain change the stock Corefile, with --corefile they mean nothing")
    if options.no_server and not (
        options.autoscaler or options.node_local or options.prometheus_rules or options.dashboards
    ):
        parser.error("--no-server leaves nothing: name what to print")
    if options.kustomize is not None or options.chart is not None:
        allowed = {"kustomize", "chart", "image"}
        given = {name for name, value in vars(options).items() if value != parser.get_default(name)}
        if others := sorted(given - allowed):
            flag = others[0].replace("_", "-")
            parser.error(
                f"a kustomize base and a chart are set up by files of their own, with them --{flag} means nothing"
            )


def _settings(options: argparse.Namespace) -> Settings:
    """Raises InputError."""
    addresses = service_addresses(options.service_cidr, both=options.dual_stack)
    domain = cluster_domain(options.cluster_domain)
    corefile, needs = _corefile(options, domain)
    count = options.replicas if options.replicas is not None or options.autoscaler else DEFAULT_REPLICAS
    return Settings(image(options.image), addresses, corefile, domain, needs, count)


def _corefile(options: argparse.Namespace, domain: str) -> tuple[str, Needs]:
    """The text, and what it needs. The stock one with nothing changed needs no check. Raises InputError."""
    if options.corefile is not None:
        text = read_text(options.corefile)
        return text, _needs(text, "/dev/stdin" if options.corefile == "-" else options.corefile)
    upstreams = tuple(target for each in options.upstream for target in upstream(each))
    stubs: Mapping[str, tuple[str, ...]] = dict(stub_domain(each, domain) for each in options.stub_domain)
    text = stock_corefile(domain, upstreams or NODE_RESOLVERS, stubs)
    return text, _needs(text, "--upstream, --stub-domain") if upstreams or stubs else Needs()


def _needs(text: str, name: str) -> Needs:
    from waypost.cli.pod_needs import read_needs  # sets every plugin up
    from waypost.corefile.errors import CorefileError

    try:
        return read_needs(text, name)
    except (CorefileError, OSError) as exc:
        raise InputError(str(exc)) from exc


def _parts(options: argparse.Namespace) -> Parts:
    """Raises InputError."""
    node_local = None
    if options.node_local:
        mode: Mode = "cilium" if options.cilium else "ipvs" if options.ipvs else "iptables"
        address = service_addresses(options.service_cidr, both=False)[0]
        node_local = NodeLocal(mode, local_address(options.local_ip or DEFAULT_LOCAL_IP, address))
    watched = (options.service_monitor, options.prometheus_rules, options.dashboards)
    return Parts(not options.no_server, options.autoscaler, node_local, *watched)


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost manifests",
        description="Print the Kubernetes objects that run Waypost as a cluster's DNS, under the names that kubeadm "
        "gives to CoreDNS's, so that they take its place.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--image", default=f"waypost:{__version__}", metavar="IMAGE", help="container image (default: %(default)s)"
    )
    parser.add_argument(
        "--replicas", type=replicas, metavar="N",
        help=f"of the Deployment (default: {DEFAULT_REPLICAS}; with --autoscaler left to it)",
    )  # fmt: skip
    parser.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="default: yaml")
    _add_cluster_options(parser)
    _add_part_options(parser)
    folders = parser.add_argument_group("write files instead of printing").add_mutually_exclusive_group()
    folders.add_argument("--kustomize", metavar="FOLDER", help="a kustomize base with overlays")
    folders.add_argument("--chart", metavar="FOLDER", help="a Helm chart")
    return parser


def _add_cluster_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cluster")
    group.add_argument(
        "--service-cidr", default=DEFAULT_SERVICE_CIDR, metavar="CIDR[,CIDR]",
        help="range of Service addresses; the Service kube-dns gets the tenth of the first one (default: %(default)s)",
    )  # fmt: skip
    group.add_argument("--dual-stack", action="store_true", help="give it the tenth address of the second range, too")
    group.add_argument("--cluster-domain", default=DEFAULT_DOMAIN, metavar="DOMAIN", help="default: %(default)s")
    group.add_argument(
        "--upstream", action="append", default=[], metavar="ADDR[,ADDR]",
        help="server for names outside the cluster (default: those of the node's resolv.conf)",
    )  # fmt: skip
    group.add_argument(
        "--stub-domain", action="append", default=[], metavar="ZONE=ADDR[,ADDR]", help="servers of a zone of their own"
    )
    group.add_argument("--corefile", metavar="FILE", help="this Corefile instead of kubeadm's; - is standard input")


def _add_part_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("parts")
    group.add_argument("--autoscaler", action="store_true", help="add the proportional autoscaler")
    group.add_argument("--node-local", action="store_true", help="add the cache on every node")
    group.add_argument(
        "--local-ip", metavar="IP", help=f"address of the cache on its node (default: {DEFAULT_LOCAL_IP})"
    )
    modes = group.add_mutually_exclusive_group()
    modes.add_argument("--ipvs", action="store_true", help="for a kube-proxy in IPVS mode: the kubelets name the cache")
    modes.add_argument("--cilium", action="store_true", help="for Cilium: its local redirect policy leads to the cache")
    group.add_argument("--service-monitor", action="store_true", help="add ServiceMonitors of the Prometheus operator")
    group.add_argument("--prometheus-rules", action="store_true", help="add the alerts, for the Prometheus operator")
    group.add_argument("--dashboards", action="store_true", help="add Grafana's dashboard as a ConfigMap")
    group.add_argument("--no-server", action="store_true", help="leave the server out: print only what is added")
