"""The pod, kubelet and node that `waypost resolvconf` and `waypost cascade` are given on the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple, TypeVar

from waypost.podside.addresses import parse_lenient
from waypost.podside.nodefile import NodeFile, NodeFileError
from waypost.podside.objects import ObjectError, PodObject, read_kubelet, read_pod
from waypost.podside.policy import Event, Kubelet, PodDns
from waypost.podside.resolvconf import ResolvConf, build
from waypost.podside.validation import FieldError, validate, warnings

_NODE_FILE: Final = "/etc/resolv.conf"
_NO_FILE: Final = "none"
_NAMESPACE: Final = "default"
# What kubeadm writes for its default service subnet.
_CLUSTER_DNS: Final = "10.96.0.10"
_CLUSTER_DOMAIN: Final = "cluster.local"

T = TypeVar("T")


class InputError(Exception):
    """A file or option that cannot be used; the text is a line for the user."""


class Refused(Exception):
    """The API server would not take the pod."""

    def __init__(self, errors: list[FieldError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        self.errors = errors


class Given(NamedTuple):
    """What the options say."""

    pod: PodObject
    kubelet: Kubelet
    node_file: NodeFile
    validated: bool

    def resolv_conf(self, namespace: str = "") -> ResolvConf:
        """The pod's, or that of its like in another namespace. Raises Refused or NodeFileError."""
        if self.validated and (errors := validate(self.pod.dns, self.pod.path)):
            raise Refused(errors)
        return build(replace(self.pod.dns, namespace=namespace or self.pod.dns.namespace), self.kubelet, self.node_file)

    def api_warnings(self) -> list[str]:
        """What the API server warns of."""
        return warnings(self.pod.dns, self.pod.path) if self.validated else []


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the pod's side."""
    group = parser.add_argument_group("pod, kubelet and node")
    group.add_argument(
        "--pod", metavar="FILE",
        help="manifest of a Pod or of a workload with a pod template, the first in the file; - is standard input "
        "(default: a pod without any DNS settings)",
    )  # fmt: skip
    group.add_argument(
        "--namespace", default=_NAMESPACE, metavar="NAME", help="of a pod that names none (default: default)"
    )
    group.add_argument(
        "--kubelet-config", metavar="FILE",
        help=f"a KubeletConfiguration: clusterDNS, clusterDomain, resolvConf (default: kubeadm's, clusterDNS "
        f"{_CLUSTER_DNS} and clusterDomain {_CLUSTER_DOMAIN})",
    )  # fmt: skip
    group.add_argument(
        "--node-resolv-conf", metavar="FILE",
        help=f"the node's resolv.conf, or {_NO_FILE} for a kubelet with resolvConf: \"\" "
        f"(default: the kubelet's resolvConf, else {_NODE_FILE})",
    )  # fmt: skip
    group.add_argument(
        "--node-ip", action="append", default=[], metavar="IP[,IP]",
        help="addresses of the node; they decide the loopback addresses that stand for a node without a file",
    )  # fmt: skip
    group.add_argument("--no-validate", action="store_true", help="skip what the API server checks")


def read_options(options: argparse.Namespace) -> Given:
    """Read every file the options name. Raises InputError."""
    named = options.node_resolv_conf
    default = named if named not in (None, _NO_FILE) else _NODE_FILE
    kubelet = Kubelet((_CLUSTER_DNS,), _CLUSTER_DOMAIN, default)
    if options.kubelet_config is not None:
        kubelet = _read_kubelet(options.kubelet_config, default)
    if named is not None:
        kubelet = replace(kubelet, resolv_conf="" if named == _NO_FILE else kubelet.resolv_conf or named)
    node_ips = tuple(ip for text in options.node_ip for ip in text.split(",") if ip)
    for ip in node_ips:
        if parse_lenient(ip) is None:
            raise InputError(f"--node-ip: expected an IP address, got '{ip}'")
    kubelet = replace(kubelet, node_ips=node_ips)
    node_file = _node_file(named or kubelet.resolv_conf) if kubelet.resolv_conf else NodeFile()
    pod = PodObject(PodDns(namespace=options.namespace))
    if options.pod is not None:
        pod = _read_pod(options.pod, options.namespace)
    return Given(pod, kubelet, node_file, not options.no_validate)


def read_named_pod(paths: Sequence[str], namespace: str, name: str) -> PodObject | None:
    """The Pod, or the workload with a template, of this name in the first of the files that has it. Raises InputError.

    Files with another fault than that they cannot be read are passed over: they are not what is asked for.
    """

    def named(value: object) -> PodObject | None:
        try:
            pod = read_pod(value, _NAMESPACE)
        except ObjectError:
            return None
        return pod if pod is not None and (pod.dns.namespace, pod.dns.name) == (namespace, name) else None

    return next((pod for path in paths if (pod := _first(path, named)) is not None), None)


def read_text(path: str) -> str:
    """A file, or standard input for `-`; bytes that are not UTF-8 are kept as surrogates. Raises InputError."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as stream:
            return stream.read()
    except (OSError, ValueError) as exc:
        raise InputError(f"{path}: {getattr(exc, 'strerror', None) or exc}") from exc


def print_json(value: object) -> None:
    """JSON for programs; what is not ASCII is escaped, since it may not be text at all."""
    import json

    print(json.dumps(value))


def print_failure(error: Exception, output: str) -> int:
    """Say why there is no answer; gives the exit code."""
    errors = error.errors if isinstance(error, Refused) else None
    if output != "json" and isinstance(error, NodeFileError):
        print_line(f"Warning  FailedCreatePodSandBox  Pod  Failed to create pod sandbox: {error}")
    elif output != "json":
        for text in [str(error)] if errors is None else [each.message for each in errors]:
            print_line(f"waypost: {text}")
    elif errors is None:
        print_json({"error": str(error)})
    else:
        print_json({"errors": [{"field": each.field, "type": each.type, "detail": each.detail} for each in errors]})
    return 1


def print_warnings(given: Given, events: Sequence[Event]) -> None:
    """The API server's warnings and the kubelet's events, on standard error."""
    for text in given.api_warnings():
        print_line(f"Warning: {text}")
    for event in events:
        print_line(f"Warning  {event.reason}  {event.object}  {event.message}")


def print_line(text: str) -> None:
    """A line on standard error, whatever bytes it holds."""
    print(text.encode("utf-8", "backslashreplace").decode(), file=sys.stderr)


def _read_pod(path: str, namespace: str) -> PodObject:
    pod = _first(path, lambda value: read_pod(value, namespace))
    if pod is None:
        raise InputError(f"{path}: no Pod, and no workload with a pod template")
    return pod


def _read_kubelet(path: str, resolv_conf: str) -> Kubelet:
    kubelet = _first(path, lambda value: read_kubelet(value, resolv_conf))
    if kubelet is None:
        raise InputError(f"{path}: no KubeletConfiguration")
    return kubelet


def _first(path: str, read: Callable[[object], T | None]) -> T | None:
    """The first object of a file in which something can be read. Raises InputError."""
    from waypost.manifests import documents  # costs more than all the rest

    text = read_text(path)
    values = documents.json_values(text) if path.endswith(".json") else documents.yaml_values(text)
    for number, value in values:
        where = f"{path}: document {number}: "
        if isinstance(value, str):
            raise InputError(where + value)
        for place, item in documents.objects(value):
            try:
                found = read(item)
            except ObjectError as exc:
                raise InputError(f"{where}{place}{exc}") from exc
            if found is not None:
                return found
    return None


def _node_file(path: str) -> NodeFile:
    """A file that cannot be read is the kubelet's error, not ours."""
    try:
        with open(path, "rb") as stream:
            return NodeFile(stream.read())
    except (OSError, ValueError) as exc:
        number = getattr(exc, "errno", None)
        return NodeFile(fault=os.strerror(number).lower() if number else str(exc))
