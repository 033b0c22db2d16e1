"""`waypost doctor`: look over a cluster's DNS, and say what is wrong, why it is thought so, and what helps."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from waypost.cli.paint import Line, print_lines
from waypost.cli.world import printable

if TYPE_CHECKING:
    from waypost.diagnosis.checks import Check
    from waypost.diagnosis.finding import Finding, Gap
    from waypost.doctor.collect import Order
    from waypost.kube.config import ClusterAccess

_EPILOG = """\
Without --from the cluster is the one of --kubeconfig, $KUBECONFIG or ~/.kube/config, or the one whose pod this is.
Nothing is changed: the API server gets GET requests only.

exit code: 0 no failure, 1 a failure (with --strict: anything but ok), or nothing can be examined, 2 wrong usage

examples:
  waypost doctor
  waypost doctor --context prod --namespace shop
  waypost doctor --from dump/ --node node-1/ -o json
  waypost doctor --node / --only D401,D402,D406
  kubectl cluster-info dump --namespaces kube-system,shop --output-directory dump && waypost doctor --from dump
"""
_STYLES: Final = {"ok": "green", "warning": "yellow", "failure": "red", "unknown": "cyan"}
_SHOWN: Final = 5
_INDENT: Final = " " * 15
_KUBELET: Final = "/var/lib/kubelet"
_INSIDE: Final = "KUBERNETES_SERVICE_HOST"


def main(words: Sequence[str]) -> int:
    """Collect, judge, print."""
    parser = make_parser()
    options = parser.parse_args(words)
    import asyncio  # these cost more than --help should

    from waypost.diagnosis.checks import CHECKS, diagnose
    from waypost.doctor.collect import collect
    from waypost.kube.errors import ClusterError

    checks = _chosen(parser, options.only, CHECKS)
    try:
        order = _order(parser, options)
    except ClusterError as exc:
        print(f"waypost: {printable(str(exc))}", file=sys.stderr)
        return 1
    progress = _Progress(sys.stderr)
    facts = asyncio.run(collect(order, checks, progress.tell))
    progress.clear()
    findings = list(diagnose(facts, checks))
    if options.output == "json":
        _print_json(findings)
    else:
        _print_text(findings)
    bad = ("failure", "warning", "unknown") if options.strict else ("failure",)
    return int(any(finding.verdict in bad for finding in findings))


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost doctor",
        description="Look over a cluster's DNS: verdict, evidence and remedy of each check.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = parser.add_argument_group("where to look")
    where.add_argument("--kubeconfig", metavar="FILE", help="of the cluster (default: $KUBECONFIG, ~/.kube/config)")
    where.add_argument("--context", metavar="NAME", help="of the kubeconfig (default: its current one)")
    where.add_argument(
        "--from",
        dest="folder",
        metavar="DIR",
        help="objects as kubectl writes them, YAML or JSON, instead of a cluster",
    )
    where.add_argument(
        "--node", metavar="DIR",
        help="root of a node, or of a copy of its /etc, /proc and /var/lib/kubelet (default: / if this is a node)",
    )  # fmt: skip
    where.add_argument(
        "--service", default="kube-system/kube-dns", metavar="NAMESPACE/NAME",
        help="the Service that pods ask (default: kube-system/kube-dns)",
    )  # fmt: skip
    where.add_argument("--namespace", default="", metavar="NAME", help="look at client pods of this namespace only")
    where.add_argument("--pod", default="", metavar="NAME", help="look at this client pod of --namespace only")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CODE[,CODE]",
        help="make these checks only (D101, or D1 for all of D1xx)",
    )
    parser.add_argument("--probe", action="store_true", help="ask the upstreams from here with --from too")
    parser.add_argument(
        "--timeout", type=_seconds, default=5.0, metavar="SECONDS", help="for each request and question (default: 5)"
    )
    parser.add_argument("--strict", action="store_true", help="exit with 1 for warnings and unknowns too")
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0 and at most 3600, got '{text}'")
    return seconds


def _chosen(parser: argparse.ArgumentParser, only: Sequence[str], checks: Sequence[Check]) -> list[Check]:
    wanted = [code.strip().upper() for text in only for code in text.split(",") if code.strip()]
    for code in wanted:
        if not any(check.code.startswith(code) for check in checks):
            parser.error(f"--only: no check '{code}'; there are {', '.join(check.code for check in checks)}")
    return [check for check in checks if not only or any(check.code.startswith(code) for code in wanted)]


def _order(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Order:
    """Raises ClusterError for a kubeconfig that cannot be used."""
    from waypost.diagnosis.finding import Gap
    from waypost.doctor.collect import Order

    namespace, slash, name = options.service.partition("/")
    if not (namespace and slash and name):
        parser.error(f"--service: expected NAMESPACE/NAME, got '{options.service}'")
    if options.pod and not options.namespace:
        parser.error("--pod: --namespace is needed too")
    if options.folder is not None and (options.kubeconfig or options.context):
        parser.error("--from: not together with --kubeconfig or --context")
    for option, folder in (("--from", options.folder), ("--node", options.node)):
        if folder is not None and not os.path.isdir(folder):
            parser.error(f"{option}: no folder '{folder}'")
    inside = options.folder is None and bool(os.environ.get(_INSIDE))
    on_node = options.folder is None and not inside and os.path.isdir(_KUBELET)
    objects = options.folder if options.folder is not None else _access(options)
    if isinstance(objects, Gap) and options.node is None and not on_node:
        parser.error(f"nothing to look at: {objects.reason}; give --kubeconfig, --from or --node")
    node: str | Gap = Gap("no files of a node are at hand (--node DIR)")
    if options.node is not None or on_node:
        node = options.node or "/"
    refused = options.folder is not None and not options.probe
    return Order(
        objects,
        node,
        (namespace, name),
        (options.namespace, options.pod),
        inside,
        inside or on_node,
        Gap("with --from nobody is asked (--probe asks from here)") if refused else None,
        options.timeout,
    )


def _access(options: argparse.Namespace) -> ClusterAccess | Gap:
    """As kubectl finds it. Raises ClusterError for a file that is there and cannot be used."""
    from waypost.diagnosis.finding import Gap
    from waypost.kube.config import in_cluster, load_kubeconfig

    if options.kubeconfig is not None:
        return load_kubeconfig(options.kubeconfig, options.context)
    named = [path for path in os.environ.get("KUBECONFIG", "").split(os.pathsep) if path]
    path = named[0] if named else os.path.expanduser("~/.kube/config")
    if named or options.context or os.path.exists(path):
        return load_kubeconfig(path, options.context)
    if os.environ.get(_INSIDE):
        return in_cluster(os.environ)
    return Gap(f"there is no kubeconfig {path}, and this is no pod")


class _Progress:
    """One line on a terminal that says what is being done; nothing anywhere else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream if stream.isatty() else None

    def tell(self, text: str) -> None:
        """Replace the line."""
        if self._stream is not None:
            self._stream.write(f"\r\x1b[K{printable(text)[:78]}")
            self._stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        self.tell("")


def _print_json(findings: Sequence[Finding]) -> None:
    import json

    print(json.dumps({"findings": [finding._asdict() for finding in findings], "summary": _counts(findings)}, indent=2))


def _print_text(findings: Sequence[Finding]) -> None:
    """What is ok takes a line; evidence and remedy stand below everything else."""
    print_lines(line for finding in findings for line in _lines(finding))
    counts = _counts(findings)
    plural = {
        verdict: "s" if verdict in ("warning", "failure") and count != 1 else "" for verdict, count in counts.items()
    }
    print("\n" + ", ".join(f"{count} {verdict}{plural[verdict]}" for verdict, count in counts.items()))


def _lines(finding: Finding) -> Iterator[Line]:
    verdict = finding.verdict.value
    yield [(f"{verdict:<7}", _STYLES[verdict]), (f"  {finding.code}  {printable(finding.summary)}", "")]
    if verdict == "ok":
        return
    for line in finding.evidence[:_SHOWN]:
        yield [(f"{_INDENT}{printable(line)}", "dim")]
    if len(finding.evidence) > _SHOWN:
        yield [(f"{_INDENT}and {len(finding.evidence) - _SHOWN} more lines (-o json)", "dim")]
    if finding.remedy:
        yield [(f"{_INDENT}remedy: {printable(finding.remedy)}", "")]


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    return {verdict: sum(finding.verdict == verdict for finding in findings) for verdict in _STYLES}
