"""The Corefile of a node: its template with every placeholder filled in, and a block for each stub domain."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from waypost.corefile.stock import NODE_RESOLVERS

CLUSTER_DNS: Final = "__PILLAR__CLUSTER__DNS__"
UPSTREAM_SERVERS: Final = "__PILLAR__UPSTREAM__SERVERS__"
LOCAL_DNS: Final = "__PILLAR__LOCAL__DNS__"
DNS_SERVER: Final = "__PILLAR__DNS__SERVER__"
_ANY: Final = re.compile(r"__PILLAR__[A-Z0-9_]*")
# Servers of one's own may not speak TCP, however the template forwards to the node's.
_FORCED_TO_TCP: Final = re.compile(rf"(forward[ \t]+\.[ \t]+{UPSTREAM_SERVERS})[ \t]*\{{\s*force_tcp\s*\}}")
_BIND: Final = re.compile(r"^[ \t]*bind[ \t]+([^#\n{]*[^#\n{\s])", re.MULTILINE)


class TemplateError(Exception):
    """A placeholder that stays: `Corefile.base:3: ...`."""


class Values(NamedTuple):
    """What the placeholders stand for.

    `cluster_dns` is empty if the environment of the process does not tell it, from the variable `told_by`.
    `bind` is where stub domains are served; without it, where the template's first `bind` says.
    """

    local_ips: Sequence[str]
    cluster_dns: str
    told_by: str
    upstreams: Sequence[str]
    stub_domains: Mapping[str, Sequence[str]]
    port: str
    bind: Sequence[str]


def service_variable(service: str) -> str:
    """The variable by which Kubernetes tells a pod the address of a Service."""
    return f"{service.upper().replace('-', '_')}_SERVICE_HOST"


def render(base: str, name: str, values: Values) -> str:
    """The Corefile. `name` is that of the template in errors. Raises TemplateError."""
    text = base
    if values.upstreams:
        text = _FORCED_TO_TCP.sub(r"\1", text)
    first = values.local_ips[0]
    # `health ADDRESS:PORT` takes one, and wants brackets around one of IPv6.
    text = text.replace(f"{LOCAL_DNS}:", f"[{first}]:" if ":" in first else f"{first}:")
    text = text.replace(LOCAL_DNS, " ".join(values.local_ips))
    text = text.replace(DNS_SERVER, "")
    text = text.replace(UPSTREAM_SERVERS, " ".join(values.upstreams or NODE_RESOLVERS))
    if values.cluster_dns:
        text = text.replace(CLUSTER_DNS, values.cluster_dns)
    _check(text, name, values)
    text = text if text.endswith("\n") else f"{text}\n"
    bind = " ".join(values.bind) or _first_bind(text)
    return text + "".join(
        _stub_block(zone, servers, values.port, bind) for zone, servers in sorted(values.stub_domains.items())
    )


def _check(text: str, name: str, values: Values) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        match = _ANY.search(line.partition("#")[0])
        if match is None:
            continue
        if match[0] == CLUSTER_DNS:
            reason = (
                f"needs the address of the cluster's DNS Service, and {values.told_by} is not in the environment: make "
                "that Service (-upstreamsvc) before the pod, in its namespace, or write the address into the template"
            )
        else:
            reason = "is filled in by whoever installs the template, and was not"
        raise TemplateError(f"{name}:{number}: {match[0]} {reason}")


def _first_bind(text: str) -> str:
    found = _BIND.search(text)
    return found[1] if found else ""


def _stub_block(zone: str, servers: Sequence[str], port: str, bind: str) -> str:
    where = f"    bind {bind}\n" if bind else ""
    return f"{zone}:{port} {{\n    errors\n    cache 30\n{where}    forward . {' '.join(servers)}\n}}\n"
