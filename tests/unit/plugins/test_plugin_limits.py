"""The directives that say how much listeners serve at once: https, https3, quic, grpc_server."""

from __future__ import annotations

import importlib

import pytest

from support.chain import make_directive, make_site
from waypost.corefile.errors import CorefileError
from waypost.dispatch.site import Site
from waypost.dispatch.transports import DEFAULT_LIMITS, Limits


def set_up(text: str) -> Site:
    site = make_site("https://.")
    importlib.import_module(f"waypost.plugins.{text.split()[0]}").setup(make_directive(text), site)
    return site


@pytest.mark.parametrize(
    ("text", "scheme", "limits"),
    [
        ("https", "https", Limits(200, 256)),
        ("https {\nmax_connections 5\n}", "https", Limits(5, 256)),
        ("https {\nmax_connections 0\n}", "https", Limits(0, 256)),
        ("https3 {\nmax_connections 5\nmax_streams 7\n}", "https3", Limits(5, 7)),
        ("grpc_server {\nmax_streams 7\n}", "grpc", Limits(200, 7)),
        ("grpc_server {\nmax_streams 0\nmax_connections 0\n}", "grpc", Limits(0, 0)),
        ("grpc_server {\nmax_streams 3\n}\ngrpc_server {\nmax_connections 4\n}", "grpc", Limits(4, 3)),
        ("quic {\nmax_streams 7\nworker_pool_size 9\n}", "quic", Limits(200, 7, 9)),
        ("quic", "quic", Limits(200, 256, 1024)),
    ],
)
def test_limits(text: str, scheme: str, limits: Limits) -> None:
    assert set_up(text).limits == {scheme: limits}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("https x", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'"),
        ("https {\nmax_streams 1\n}", "Corefile:3 - Error during parsing: unknown property 'max_streams'"),
        (
            "https {\nmax_connections\n}",
            "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'max_connections'",
        ),
        ("https {\nmax_connections -1\n}", "max_connections must be a non-negative integer: -1"),
        ("quic {\nmax_streams 0\n}", "max_streams must be a positive integer: 0"),
        ("quic {\nworker_pool_size 0\n}", "worker_pool_size must be a positive integer: 0"),
        (
            "grpc_server {\nmax_streams many\n}",
            "invalid max_streams value 'many': strconv.Atoi: parsing \"many\": invalid syntax",
        ),
        (
            "https3 {\nmax_streams 1\nmax_streams 2\n}",
            "max_streams already defined for this server block",
        ),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        set_up(text)
    assert str(caught.value) == error


def test_every_scheme_has_defaults() -> None:
    assert set(DEFAULT_LIMITS) == {"dns", "tls", "https", "grpc", "quic", "https3"}
