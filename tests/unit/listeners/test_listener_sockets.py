"""Opening sockets, and saying why one cannot be had."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator

import pytest

from waypost.listeners import sockets
from waypost.listeners.sockets import ListenError, connection_limit, families, open_socket, raise_descriptor_limit

V4, V6 = socket.AF_INET, socket.AF_INET6


class TestFamilies:
    @pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
    def test_a_wildcard_needs_both(self, host: str) -> None:
        assert families(host) == [(V4, "0.0.0.0"), (V6, "::")]

    @pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
    def test_without_ipv6_in_the_kernel(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sockets, "_has_ipv6", lambda: False)
        assert families(host) == [(V4, "0.0.0.0")]

    def test_an_address_is_of_one(self) -> None:
        assert families("127.0.0.1") == [(V4, "127.0.0.1")]
        assert families("fe80::1%lo") == [(V6, "fe80::1%lo")]


class TestOpen:
    @pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
    def test_a_second_one_on_the_same_port(self, kind: socket.SocketKind) -> None:
        with open_socket(V4, kind, "127.0.0.1", "0") as first:
            port = str(first.getsockname()[1])
            assert not first.getblocking()
            for family, host in ((V4, "127.0.0.1"), (V4, "0.0.0.0"), (V6, "::")):
                open_socket(family, kind, host, port).close()

    @pytest.mark.parametrize(
        ("kind", "host", "error"),
        [
            (socket.SOCK_DGRAM, "192.0.2.1", "listen udp 192.0.2.1:53: bind: cannot assign requested address"),
            (socket.SOCK_STREAM, "2001:db8::1", "listen tcp [2001:db8::1]:53: bind: cannot assign requested address"),
            (socket.SOCK_DGRAM, "fe80::1%no0", "listen udp [fe80::1%no0]:53: bind: no interface with this name"),
        ],
    )
    def test_errors(self, kind: socket.SocketKind, host: str, error: str) -> None:
        with pytest.raises(ListenError) as caught:
            open_socket(V6 if ":" in host else V4, kind, host, "53")
        assert str(caught.value) == error

    def test_no_port(self) -> None:
        with pytest.raises(ListenError) as caught:
            open_socket(V4, socket.SOCK_STREAM, "127.0.0.1", "65536")
        assert str(caught.value) == "address 65536: invalid port"

    @pytest.mark.parametrize(("kind", "name"), [(socket.SOCK_DGRAM, "udp"), (socket.SOCK_STREAM, "tcp")])
    def test_taken_by_somebody_who_does_not_share(self, kind: socket.SocketKind, name: str) -> None:
        with socket.socket(V4, kind) as other:
            other.bind(("0.0.0.0", 0))
            port = str(other.getsockname()[1])
            with pytest.raises(ListenError) as caught:
                open_socket(V4, kind, "0.0.0.0", port)
        assert str(caught.value) == f"listen {name} :{port}: bind: address already in use"


class TestDescriptors:
    @pytest.fixture(autouse=True)
    def limits(self) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        yield
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    def test_as_many_as_the_system_allows(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))
        raise_descriptor_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, most)

    def test_a_listener_takes_a_quarter(self) -> None:
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, most))
        assert connection_limit() == 128
