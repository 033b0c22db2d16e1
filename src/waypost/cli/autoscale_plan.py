"""`waypost autoscale plan`: how many replicas the parameters give, for a cluster as it is and as it grows."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from waypost.cli.podside import InputError, print_failure, read_text
from waypost.cli.table import print_table
from waypost.scaling.formula import ClusterSize, wanted
from waypost.scaling.params import Params, ParamsError, read_data

_EPILOG = """\
exit code: 0 done, 1 the parameters cannot be used, 2 wrong usage

examples:
  waypost autoscale plan --nodes 100 --cores 400 --params params.yaml
  waypost autoscale plan --nodes 9 --schedulable-nodes 8 --cores 36 --schedulable-cores 32 --params p.json -o json
  kubectl -n kube-system get cm kube-dns-autoscaler -o yaml | waypost autoscale plan --nodes 40 --cores 640 --params -
"""
_ROWS: Final = 16
_BAR: Final = 40


def main(words: Sequence[str]) -> int:
    """Print the replicas now, and a table with bars up to twice the size."""
    parser = make_parser()
    options = parser.parse_args(words)
    size = _size(parser, options)
    try:
        params = read_params(options.params)
    except InputError as exc:
        return print_failure(exc, options.output)
    now = wanted(params, size)
    if options.output == "json":
        print(json.dumps({"replicas": now.replicas}))
        return 0
    print(f"replicas: {now.replicas} (cores ask for {now.by_cores}, nodes for {now.by_nodes})\n")
    print_table(("nodes", "cores", "replicas", ""), list(_rows(params, size)))
    return 0


def read_params(path: str) -> Params:
    """The data of the autoscaler's ConfigMap, or the ConfigMap itself, in YAML or JSON. Raises InputError."""
    from waypost.manifests import documents  # costs more than all the rest

    text = read_text(path)
    values = documents.json_values(text) if path.endswith(".json") else documents.yaml_values(text)
    parsed = next((value for _, value in values), None)
    if parsed is None or isinstance(parsed, str):
        raise InputError(f"{path}: {parsed or 'expected an object with the key linear or ladder, got nothing'}")
    try:
        return read_data(_data(parsed.value))
    except ParamsError as exc:
        raise InputError(f"{path}: {exc}") from exc


def _data(value: Any) -> dict[str, Any]:
    if isinstance(value, dict) and value.get("kind") == "ConfigMap":
        value = value.get("data", {})
    if not isinstance(value, dict):
        raise ParamsError("", "expected an object with the key linear or ladder")
    return value


def _rows(params: Params, size: ClusterSize) -> Iterator[tuple[str, ...]]:
    """Sizes of the same proportions, up to twice the present one, which is marked."""
    largest = 2 * max(size.nodes, _ROWS // 2)
    counts = sorted({round(largest * row / _ROWS) for row in range(1, _ROWS + 1)} | {size.nodes})
    sizes = [_resized(size, count) for count in counts]
    replicas = [wanted(params, each).replicas for each in sizes]
    unit = max(max(replicas) / _BAR, 1)
    for each, count in zip(sizes, replicas, strict=True):
        bar = "#" * round(count / unit)
        yield str(each.nodes), str(each.cores), str(count), f"{bar} now".lstrip() if each.nodes == size.nodes else bar


def _resized(size: ClusterSize, nodes: int) -> ClusterSize:
    if nodes == size.nodes:
        return size
    factor = nodes / size.nodes if size.nodes else 1
    return ClusterSize(nodes, *(round(number * factor) for number in size[1:]))


def _size(parser: argparse.ArgumentParser, options: argparse.Namespace) -> ClusterSize:
    nodes, cores = options.nodes, options.cores
    size = ClusterSize(
        nodes,
        nodes if options.schedulable_nodes is None else options.schedulable_nodes,
        cores,
        cores if options.schedulable_cores is None else options.schedulable_cores,
    )
    for name, part, whole in (("nodes", size.schedulable_nodes, nodes), ("cores", size.schedulable_cores, cores)):
        if part > whole:
            parser.error(f"--schedulable-{name}: expected at most --{name}, {whole}, got {part}")
    return size


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to 999999999, got '{text}'")
    return int(text)


def make_parser() -> argparse.ArgumentParser:
    """The words of the command."""
    parser = argparse.ArgumentParser(
        prog="waypost autoscale plan",
        description="Show how many replicas the autoscaler's parameters give, now and as the cluster grows.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--nodes", required=True, type=_count, metavar="N", help="nodes of the cluster")
    parser.add_argument("--cores", required=True, type=_count, metavar="N", help="allocatable cores of all of them")
    parser.add_argument(
        "--schedulable-nodes", type=_count, metavar="N", help="those that are ready and not cordoned (default: all)"
    )
    parser.add_argument("--schedulable-cores", type=_count, metavar="N", help="the cores of these (default: all)")
    parser.add_argument(
        "--params", required=True, metavar="FILE",
        help="the ConfigMap, or its data: a key linear or ladder, its value JSON text or an object; YAML, or JSON in a "
        "file .json; - is standard input",
    )  # fmt: skip
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    return parser
