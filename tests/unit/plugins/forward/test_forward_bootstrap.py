"""Whom forward asks for the addresses of its upstreams."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.chain import FakeProcess, make_site
from support.upstream import ScriptedUpstream
from waypost.dispatch.site import Site
from waypost.plugins.forward import bootstrap
from waypost.plugins.forward.bootstrap import Bootstrap
from waypost.toolkit.hostlookup import Found, Resolver
from waypost.toolkit.upstream_address import UpstreamAddress
from waypost.toolkit.upstream_errors import UpstreamError
from waypost.wire.names import from_text


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Resolver]:
    """What look-ups are made with; the system's files are in the test's folder, its interface has 192.0.2.77."""
    seen: list[Resolver] = []

    async def remember(host: str, resolver: Resolver) -> Found:
        seen.append(resolver)
        return Found(("192.0.2.1",), 60)

    monkeypatch.setattr(bootstrap, "look_up", remember)
    monkeypatch.setattr(bootstrap, "RESOLV_CONF", str(tmp_path / "resolv.conf"))
    monkeypatch.setattr(bootstrap, "HOSTS", str(tmp_path / "hosts"))
    addresses = {"lo": ["127.0.0.1", "::1"], "eth0": ["192.0.2.77", "fe80::7%eth0"]}
    monkeypatch.setattr(bootstrap, "interface_addresses", lambda: addresses)
    return seen


def servers(*texts: str) -> tuple[UpstreamAddress, ...]:
    """`IP` or `IP/PORT`."""
    split = (text.partition("/") for text in texts)
    return tuple(UpstreamAddress(ip, int(port or 53)) for ip, _, port in split)


def site_on(*labels: str, bind: str = "") -> Site:
    """A block beside one on port 1053."""
    process = FakeProcess()
    site, other = make_site(*labels, process=process), make_site(".:1053", process=process)
    site.bind = bind.split()
    site.peers = other.peers = [other, site]
    return site


async def test_the_systems_name_servers(asked: list[Resolver], tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text(
        "search a.example\nnameserver 192.0.2.5\nnameserver fe80::1%eth0\nnameserver no-ip\noptions ndots:5\n"
    )
    (tmp_path / "hosts").write_text("192.0.2.3 x\n")
    await Bootstrap((), site_on(".")).look_up("dns.example")
    expected = (UpstreamAddress("192.0.2.5", 53), UpstreamAddress("fe80::1", 53, "eth0"))
    assert asked == [Resolver(expected, (from_text("a.example."),), 5, "192.0.2.3 x\n")]


async def test_option_alone_counts(asked: list[Resolver], tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("search a.example\nnameserver 192.0.2.5\n")
    await Bootstrap(servers("192.0.2.6"), site_on(".")).look_up("dns.example")
    assert asked == [Resolver(servers("192.0.2.6"))]


async def test_system_without_files(asked: list[Resolver]) -> None:
    await Bootstrap((), site_on(".")).look_up("dns.example")
    assert asked == [Resolver((), (), 1)]


@pytest.mark.parametrize(
    ("server", "label", "bind"),
    [
        ("127.0.0.1", ".", ""),
        ("127.0.0.53", ".", ""),
        ("::1", "a.example b.example:53", ""),
        ("192.0.2.77", ".", ""),
        ("fe80::7", ".", ""),
        ("192.0.2.5", ".", "192.0.2.9 192.0.2.5"),
        ("0:0::1", ".", "::1"),
        ("127.0.0.1/1053", ".:54", "192.0.2.5"),
        ("127.0.0.1", ".", "0.0.0.0"),
    ],
)
async def test_never_by_ourselves(asked: list[Resolver], server: str, label: str, bind: str) -> None:
    (address,) = servers(server)
    with pytest.raises(UpstreamError) as caught:
        await Bootstrap((address,), site_on(*label.split(), bind=bind)).look_up("dns.example")
    assert str(caught.value) == f"name server {address} is this server itself: name another one with `resolver`"
    assert asked == []


@pytest.mark.parametrize(
    ("server", "label", "bind"),
    [
        ("192.0.2.5", ".", ""),
        ("127.0.0.1/54", ".", ""),
        ("127.0.0.1", ".:54", ""),
        ("127.0.0.53", ".", "192.0.2.77"),
        ("192.0.2.77/853", "tls://.", ""),
    ],
)
async def test_others_are_asked(asked: list[Resolver], server: str, label: str, bind: str) -> None:
    await Bootstrap(servers(server), site_on(label, bind=bind)).look_up("dns.example")
    assert asked == [Resolver(servers(server))]


async def test_ourselves_among_others_is_left_out(asked: list[Resolver]) -> None:
    await Bootstrap(servers("127.0.0.1", "192.0.2.5"), site_on(".")).look_up("dns.example")
    assert asked == [Resolver(servers("192.0.2.5"))]


async def test_kernel_that_does_not_tell(asked: list[Resolver], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> dict[str, list[str]]:
        raise OSError("no netlink here")

    monkeypatch.setattr(bootstrap, "interface_addresses", refuse)
    await Bootstrap(servers("192.0.2.77"), site_on(".")).look_up("dns.example")
    assert asked


async def test_real_look_up() -> None:
    async with ScriptedUpstream() as upstream:
        found = await Bootstrap(servers(f"127.0.0.1/{upstream.port}"), site_on(".")).look_up("dns.example")
    assert found == Found(("192.0.2.1",), 60)
