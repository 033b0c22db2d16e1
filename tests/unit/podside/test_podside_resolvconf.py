"""The kubelet's resolv.conf, judged by what the kubelet made of the same pod, configuration and node file."""

from __future__ import annotations

from typing import Any

import pytest

from support.podside import cases, kubelet_of, node_file_of, pod_of
from waypost.podside.nodefile import NodeFile, NodeFileError
from waypost.podside.policy import Event, Kubelet, PodDns
from waypost.podside.resolvconf import ResolvConf, build, check_node_file


def shown(events: tuple[Event, ...]) -> list[dict[str, str]]:
    return [
        {"object": event.object, "type": "Warning", "reason": event.reason, "message": event.message}
        for event in events
    ]


@pytest.mark.parametrize("case", cases("resolvconf"))
def test_recorded(case: dict[str, Any]) -> None:
    kubelet, node_file = kubelet_of(case), node_file_of(case)
    found: dict[str, Any] = {"node_check_events": shown(check_node_file(kubelet, node_file))}
    try:
        conf = build(pod_of(case), kubelet, node_file)
    except NodeFileError as exc:
        found |= {"error": str(exc), "events": []}
    else:
        found |= {
            "nameservers": list(conf.nameservers),
            "searches": list(conf.searches),
            "options": sorted(conf.options),
            "events": shown(conf.events),
        }
    assert found == case["expect"]


def test_size_limit() -> None:
    line = b"nameserver 192.0.2.53\n"
    good = NodeFile(line + b"#" * (10 * 1024 * 1024 - 1 - len(line)))
    assert build(PodDns(dns_policy="Default"), Kubelet(), good).nameservers == ("192.0.2.53",)
    with pytest.raises(NodeFileError, match="Error: the read limit is reached"):
        build(PodDns(dns_policy="Default"), Kubelet(), NodeFile(good.content + b"#"))


@pytest.mark.parametrize(
    ("conf", "text"),
    [
        (
            ResolvConf(("10.96.0.10", "fd00::a"), ("a.example", "b.example"), ("ndots:5", "edns0")),
            "search a.example b.example\nnameserver 10.96.0.10\nnameserver fd00::a\noptions ndots:5 edns0\n",
        ),
        (ResolvConf(("1.1.1.1",), (), ()), "nameserver 1.1.1.1\n"),
        (ResolvConf((), (), ()), ""),
    ],
    ids=["full", "servers only", "nothing"],
)
def test_text(conf: ResolvConf, text: str) -> None:
    assert conf.text() == text


def test_bytes_that_are_no_text_survive() -> None:
    conf = build(PodDns(dns_policy="Default"), Kubelet(), NodeFile(b"search a\xff.example\n"))
    assert conf.text().encode("utf-8", "surrogateescape") == b"search a\xff.example\n"
