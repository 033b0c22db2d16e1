"""Which upstreams are asked, and what comes of it."""

from __future__ import annotations

import socket

import pytest

from support.upstream import Behaviour, ScriptedUpstream, changed, good, silent
from support.upstream import rcode as refusing
from waypost.diagnosis.facts import NodeText
from waypost.diagnosis.finding import Gap
from waypost.doctor.asking import ask_service, ask_upstreams

UNKNOWN = Gap("no node")
RESOLV_CONF = "/etc/resolv.conf"


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (RESOLV_CONF, "/etc/resolv.conf of the DNS pods is not at hand: no node"),
        ("/etc/other.conf", "/etc/other.conf of the DNS pods is not at hand"),
        ("https://192.0.2.1", "upstreams of scheme https are not asked"),
        ("dns.example.org", "dns.example.org: no IP address and port"),
        ("grpc://192.0.2.1", "'grpc' is not supported"),
        ("192.0.2.1:0", "no IP address and port"),
        ("", ": no IP address and port"),
    ],
)
async def test_not_asked(word: str, text: str) -> None:
    found = await ask_upstreams([word], {}, UNKNOWN, 0.1)
    assert found.probes == ()
    [unasked] = found.unasked
    assert text in unasked


async def test_a_file_without_servers_asks_nobody() -> None:
    found = await ask_upstreams([RESOLV_CONF], {}, NodeText(RESOLV_CONF, b"nameserver\n"), 0.1)
    assert "nameserver list is empty" in found.unasked[0]


async def test_nobody_listens() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
        found = await ask_upstreams([f"127.0.0.1:{port}", f"127.0.0.1:{port}"], {}, UNKNOWN, 0.2)
    assert [(probe.address, probe.transport) for probe in found.probes] == [
        (f"127.0.0.1:{port}", "UDP"),
        (f"127.0.0.1:{port}", "TCP"),
    ]
    assert all(probe.error and not probe.rcode for probe in found.probes)


async def test_the_servers_of_the_pods_file() -> None:
    conf = NodeText(RESOLV_CONF, b"nameserver 127.0.0.254\n")
    found = await ask_upstreams([RESOLV_CONF], {}, conf, 0.1)
    assert {probe.address for probe in found.probes} == {"127.0.0.254:53"}


async def test_the_service() -> None:
    found = await ask_service(["127.0.0.254", "::1"], "kubernetes.default.svc.cluster.local.", 0.1, port=1)
    assert [probe.transport for probe in found.probes] == ["UDP", "TCP", "UDP", "TCP"]


@pytest.mark.parametrize(
    ("behaviour", "rcode", "error"),
    [
        (good(), "NOERROR", ""),
        (refusing("REFUSED"), "REFUSED", ""),
        (silent, "", "no answer"),
        (changed(lambda message: setattr(message, "id", message.id ^ 1)), "", ""),
    ],
)
async def test_what_comes_back(behaviour: Behaviour, rcode: str, error: str) -> None:
    async with ScriptedUpstream(behaviour) as upstream:
        found = await ask_upstreams([upstream.address], {}, UNKNOWN, 0.3)
    assert [probe.rcode for probe in found.probes] == [rcode, rcode]
    for probe in found.probes:
        assert bool(probe.error) is not bool(probe.rcode)
        assert probe.error.startswith(error)
