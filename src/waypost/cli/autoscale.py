"""`waypost autoscale`: keep the replicas of a target in proportion to the cluster.

The flags are those of the cluster-proportional-autoscaler, and some more. `waypost autoscale plan` only computes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from waypost.autoscale.settings import Settings
    from waypost.kube.config import ClusterAccess

_EPILOG = """\
exit code: 0 ended by a signal, 1 a flag or the access to the cluster cannot be used, or too many polls failed,
2 wrong usage

examples:
  waypost autoscale --namespace=kube-system --configmap=kube-dns-autoscaler --target=deployment/coredns
  waypost autoscale --kubeconfig ~/.kube/config --namespace kube-system --configmap kube-dns-autoscaler \\
      --target deployment/coredns --dry-run
  waypost autoscale plan --nodes 100 --cores 400 --params params.yaml
"""
_TRUE: Final = ("1", "t", "true")
_FALSE: Final = ("0", "f", "false")


def main(words: Sequence[str]) -> int:
    """Run until a signal ends it."""
    if words[:1] == ["plan"]:
        from waypost.cli import autoscale_plan

        return autoscale_plan.main(words[1:])
    parser = make_parser()
    options = parser.parse_args(words)
    if options.poll_period_seconds < 1 or options.max_sync_failures < 0 or options.scale_down_hold_seconds < 0:
        parser.error(
            "--poll-period-seconds takes 1 or more, --max-sync-failures and --scale-down-hold-seconds 0 or more"
        )
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    import asyncio

    from waypost.autoscale.run import run
    from waypost.autoscale.settings import SettingsError
    from waypost.httpd.socket import ListenError
    from waypost.kube.errors import ClusterError
    from waypost.log import Log

    log = Log(sys.stderr if options.logtostderr else sys.stdout)
    log.set_debug(options.v >= 2)
    try:
        access = _access(options)
        settings = _settings(options, access)
        return asyncio.run(run(settings, access, options.listen_address, log))
    except (SettingsError, ClusterError, ListenError) as exc:
        print(f"waypost: {exc}", file=sys.stderr)
        return 1


def _access(options: argparse.Namespace) -> ClusterAccess:
    """Raises ClusterError."""
    from waypost.kube.config import in_cluster, load_kubeconfig

    return load_kubeconfig(options.kubeconfig) if options.kubeconfig else in_cluster(os.environ)


def _settings(options: argparse.Namespace, access: ClusterAccess) -> Settings:
    """Raises SettingsError."""
    import uuid

    from waypost.autoscale.settings import Settings, SettingsError, parse_default_params, parse_targets

    namespace = options.namespace or os.environ.get("MY_POD_NAMESPACE") or access.namespace
    if not namespace:
        raise SettingsError("--namespace: expected the namespace of the target, or MY_POD_NAMESPACE in the environment")
    return Settings(
        namespace,
        options.configmap,
        parse_targets(options.target),
        float(options.poll_period_seconds),
        options.nodelabels,
        parse_default_params(options.default_params) if options.default_params else None,
        options.max_sync_failures,
        float(options.scale_down_hold_seconds),
        options.dry_run,
        options.leader_elect,
        f"{os.uname().nodename}_{uuid.uuid4()}",
    )


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"expected true or false, got '{text}'")


def _address(text: str) -> str:
    from waypost.httpd.server import check_address

    try:
        return check_address(text) if text else ""
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT, or nothing: {exc}") from None


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost autoscale",
        description="Keep the number of replicas in proportion to the nodes and cores of the cluster. With 'plan' as "
        "first word: show what parameters give, without a cluster.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--target", required=True, metavar="KIND/NAME[,...]",
        help="what to scale: deployment/NAME, replicaset/NAME or replicationcontroller/NAME",
    )  # fmt: skip
    parser.add_argument("--configmap", required=True, metavar="NAME", help="ConfigMap with the parameters")
    parser.add_argument("--namespace", metavar="NAME", help="of both (default: MY_POD_NAMESPACE, else the pod's own)")
    parser.add_argument("--default-params", metavar="JSON", help="parameters of a ConfigMap to make if there is none")
    parser.add_argument("--nodelabels", default="", metavar="SELECTOR", help="count only nodes with these labels")
    parser.add_argument("--poll-period-seconds", type=int, default=10, metavar="N", help="default: 10")
    parser.add_argument(
        "--max-sync-failures", type=int, default=0, metavar="N", help="end after so many failed polls (default: never)"
    )
    _add_own_options(parser)
    logs = {"nargs": "?", "const": True, "default": False, "type": _boolean, "metavar": "true|false"}
    parser.add_argument("--logtostderr", help="log to standard error instead of standard output", **logs)  # type: ignore[arg-type]
    parser.add_argument("--v", type=int, default=0, metavar="N", help="2 and more: say what each poll counted")
    return parser


def _add_own_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("not of the cluster-proportional-autoscaler")
    group.add_argument(
        "--scale-down-hold-seconds", type=int, default=0, metavar="N",
        help="fewer replicas only after they were enough for so long (default: 0, at once)",
    )  # fmt: skip
    group.add_argument(
        "--leader-elect", action="store_true", help="act only as holder of the Lease of the ConfigMap's name"
    )
    group.add_argument("--dry-run", action="store_true", help="change nothing, say what would be changed")
    group.add_argument("--kubeconfig", metavar="FILE", help="access to the cluster (default: the pod's own)")
    group.add_argument(
        "--listen-address", type=_address, default=":8080", metavar="ADDR",
        help="for /healthz, /last-poll and /metrics; empty for none (default: :8080)",
    )  # fmt: skip
