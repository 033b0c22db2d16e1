"""The listener of each scheme, and what is said where its package is missing."""

from __future__ import annotations

import importlib.util
import socket

import pytest

from support.chain import FakeProcess
from support.corefiles import DictReader
from support.secure import TLS
from waypost.control.build import build
from waypost.corefile.errors import CorefileError
from waypost.corefile.parser import parse
from waypost.corefile.zones import SCHEME_PORTS
from waypost.dispatch.transports import DEFAULT_LIMITS
from waypost.listeners.schemes import check_installed, make_listener
from waypost.listeners.sockets import open_socket
from waypost.metrics.registry import Registry
from waypost.plugins.order import ORDER


@pytest.mark.parametrize("scheme", SCHEME_PORTS)
def test_every_scheme_is_served(scheme: str) -> None:
    check_installed(scheme)
    assert scheme in DEFAULT_LIMITS
    kind = socket.SOCK_DGRAM if scheme in ("quic", "https3") else socket.SOCK_STREAM
    with open_socket(socket.AF_INET, kind, "127.0.0.1", "0") as sock:
        make_listener(scheme, sock, Registry())


def set_up(text: str) -> None:
    parsed = parse(text, "Corefile", env={}, known=ORDER, read=DictReader())
    build(parsed, "53", FakeProcess().services())


@pytest.mark.parametrize(
    ("scheme", "package", "extra"),
    [
        ("https", "h2", "doh"),
        ("https", "h11", "doh"),
        ("grpc", "h2", "grpc"),
        ("quic", "aioquic", "quic"),
        ("https3", "aioquic", "quic"),
    ],
)
def test_a_missing_package(scheme: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr("waypost.toolkit.extras.find_spec", lambda name: None if name == package else found(name))
    with pytest.raises(CorefileError) as caught:
        set_up(f"{scheme}://. {{\n  whoami\n}}\n")
    assert str(caught.value) == (
        f"Corefile:1 - Error during parsing: {scheme}:// needs the package {package}, which is not installed:"
        f" pip install 'waypost[{extra}]'"
    )


TLS_LINE = f"tls {TLS.certificate} {TLS.key}"


def test_tcp_and_udp_may_share_a_port() -> None:
    set_up(f"tls://.:853 quic://.:853 https://. https3://. {{\n  {TLS_LINE}\n  whoami\n}}\n")


@pytest.mark.parametrize(
    "labels", ["tls://.:853 https://.:853", "quic://.:853 https3://.:853", "dns://.:853 quic://.:853"]
)
def test_two_transports_cannot(labels: str) -> None:
    with pytest.raises(CorefileError, match="listens there with other zones"):
        set_up(f"{labels} {{\n  {TLS_LINE}\n  whoami\n}}\n")


def test_plain_dns_has_no_tls() -> None:
    parsed = parse(f".:53 tls://. {{\n  {TLS_LINE}\n  whoami\n}}\n", "Corefile", env={}, known=ORDER, read=DictReader())
    plan = build(parsed, "53", FakeProcess().services())
    assert {endpoint.scheme for endpoint in plan.tls} == {"tls"}


def test_limits_are_those_of_the_scheme() -> None:
    text = f"https://. grpc://.:444 {{\n  {TLS_LINE}\n  https {{\n    max_connections 7\n  }}\n  whoami\n}}\n"
    plan = build(parse(text, "Corefile", env={}, known=ORDER, read=DictReader()), "53", FakeProcess().services())
    assert {endpoint.scheme: limits.connections for endpoint, limits in plan.limits.items()} == {"https": 7}
