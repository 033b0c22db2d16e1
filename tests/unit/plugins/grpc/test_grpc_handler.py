"""grpc against real listeners of ours, and upstreams that fail."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import dns.rcode
import pytest

from support.asking import Block, block
from support.chain import FakeProcess
from support.secure import CA, SERVER_NAME, Listening
from waypost.dispatch.request import Request
from waypost.plugins.grpc import setup
from waypost.toolkit.upstream_pool import PoolLimits
from waypost.wire import consts
from waypost.wire.reply import Reply, authoritative

NEXT = Reply(consts.NOERROR, consts.AA)


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@asynccontextmanager
async def asking(text: str, **how: Any) -> AsyncIterator[Block]:
    """A block with this grpc line."""
    made = block(setup, text, **how)
    try:
        yield made
    finally:
        for group in made.process.lender.lent.values():
            await group.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "rcode"), [("a.", "NOERROR"), ("drop.", "SERVFAIL")])
async def test_over_clear_text(name: str, rcode: str) -> None:
    async with Listening("grpc", tls=None) as upstream, asking(f"grpc . 127.0.0.1:{upstream.port}") as made:
        answer = await made.ask(name)
    assert dns.rcode.to_text(answer.rcode()) == rcode


async def test_over_tls() -> None:
    async with Listening("grpc") as upstream:
        text = f"grpc . grpc://127.0.0.1:{upstream.port} {{\ntls {CA}\ntls_servername {SERVER_NAME}\n}}"
        async with asking(text) as made:
            for _ in range(3):
                assert (await made.ask("a.")).answer
        (first, *_) = upstream.world.plugin.seen
        assert first.protocol == "tcp"
        assert (
            made.process.metrics.families["coredns_grpc_requests_total"].cell((f"127.0.0.1:{upstream.port}",)).value
            == 3
        )  # type: ignore[union-attr]


async def test_a_certificate_of_somebody_else() -> None:
    async with Listening("grpc") as upstream, asking(f"grpc . 127.0.0.1:{upstream.port} {{\ntls {CA}\n}}") as made:
        outcome = await made.reply("a.")
    assert (outcome.written, outcome.rcode) == (False, consts.SERVFAIL)
    assert outcome.error.startswith("tls: failed to verify certificate")


async def test_the_next_upstream_is_asked() -> None:
    async with Listening("grpc", tls=None) as upstream:
        text = f"grpc . 127.0.0.1:{free_port()} 127.0.0.1:{upstream.port} {{\npolicy sequential\n}}"
        async with asking(text) as made:
            assert (await made.ask("a.")).answer


async def test_each_is_asked_once() -> None:
    async with asking(f"grpc . 127.0.0.1:{free_port()} 127.0.0.1:{free_port()}") as made:
        outcome = await made.reply("a.")
    assert outcome.rcode == consts.SERVFAIL
    assert "connect: connection refused" in outcome.error


def nxdomain(request: Request) -> Reply:
    return authoritative(request.query, rcode=consts.NXDOMAIN)


@pytest.mark.parametrize(
    ("option", "passed"), [("", False), ("fallthrough", True), ("fallthrough a.", True), ("fallthrough b.", False)]
)
async def test_nxdomain_falls_through(option: str, passed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.listening.answer", nxdomain)
    async with (
        Listening("grpc", tls=None) as upstream,
        asking(f"grpc . 127.0.0.1:{upstream.port} {{\n{option}\n}}", reply=NEXT) as made,
    ):
        answer = await made.ask("x.a.")
    assert answer.rcode() == (dns.rcode.NOERROR if passed else dns.rcode.NXDOMAIN)


@pytest.mark.parametrize(("option", "passed"), [("", False), ("fallthrough", True)])
async def test_errors_fall_through(option: str, passed: bool) -> None:
    async with asking(f"grpc . 127.0.0.1:{free_port()} {{\n{option}\n}}", reply=NEXT) as made:
        answer = await made.ask("a.")
    assert answer.rcode() == (dns.rcode.NOERROR if passed else dns.rcode.SERVFAIL)


@pytest.mark.parametrize(
    ("name", "asked"),
    [("example.org.", True), ("a.example.org.", True), ("x.no.example.org.", False), ("com.", False)],
)
async def test_which_names(name: str, asked: bool) -> None:
    async with Listening("grpc", tls=None) as upstream:
        text = f"grpc example.org 127.0.0.1:{upstream.port} {{\nexcept no.example.org\n}}"
        async with asking(text, reply=NEXT) as made:
            await made.ask(name)
        assert bool(upstream.world.plugin.seen) is asked


async def test_a_reload_keeps_the_connection() -> None:
    async with Listening("grpc", tls=None) as upstream:
        process = FakeProcess()
        text = f"grpc . 127.0.0.1:{upstream.port}"
        async with asking(text, process=process) as first, asking(text, process=process) as second:
            await first.ask("a.")
            await second.ask("a.")
            ports = {request.client[1] for request in upstream.world.plugin.seen}
            assert len(ports) == 1


async def test_an_upstream_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[setup.__module__]
    monkeypatch.setattr(module, "_LIMITS", PoolLimits(0.1, 10.0, 0.0, 0))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        async with asking(f"grpc . 127.0.0.1:{port}") as made:
            outcome = await made.reply("a.")
    assert outcome.error == f"grpc://127.0.0.1:{port}: i/o timeout"
