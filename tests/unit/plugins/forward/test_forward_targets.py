"""TO arguments: addresses, host names, files."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.corefile.errors import CorefileError
from waypost.plugins.forward.targets import parse_targets, read_targets, tell_hosts
from waypost.toolkit.upstream_address import UpstreamHost


def addresses(*texts: str) -> list[str]:
    return [str(address) for address in read_targets(parse_targets(texts), {}).addresses]


def test_duplicates_count_once_whatever_the_scheme() -> None:
    assert addresses("1.1.1.1", "tls://1.1.1.1:53", "1.1.1.1:53", "1.1.1.1:54") == ["1.1.1.1:53", "1.1.1.1:54"]
    assert not read_targets(parse_targets(["1.1.1.1", "tls://1.1.1.1:53"]), {}).addresses[0].secure
    assert addresses("FE80::1%eth0", "fe80::1%eth0", "fe80::1%eth1") == ["[FE80::1%eth0]:53", "[fe80::1%eth1]:53"]


def test_file(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(
        "# nameserver 192.0.2.9\n; nameserver 192.0.2.8\nsearch a b\nnameserver\t192.0.2.1\nnameserver fe80::1%eth0\n"
        "nameserver 192.0.2.1\n  nameserver ::1 trailing\noptions ndots:5\nnameserver\n"
    )
    assert addresses(str(path), "192.0.2.7:5300") == ["192.0.2.1:53", "[fe80::1%eth0]:53", "[::1]:53", "192.0.2.7:5300"]


def test_file_without_nameserver(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("# nothing\n")
    with pytest.raises(CorefileError) as caught:
        addresses(str(path))
    assert str(caught.value) == "no nameservers found"


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nofile"):
        with pytest.raises(CorefileError) as caught:
            addresses(str(path))
        assert str(caught.value) == f'not an IP address or file: "{path}"'


def test_nameserver_that_is_none_is_left_out_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver not-an-ip\nnameserver 192.0.2.1:53x\nnameserver https://192.0.2.1\n")
    targets = read_targets(parse_targets([str(path)]), {})
    assert [address.ip for address in targets.addresses] == ["192.0.2.1"]
    assert f"nameserver not-an-ip in {path} is not an IP address and is ignored" in targets.warnings


@pytest.mark.parametrize("ip", ["127.0.0.53", "::1"])
def test_loopback_in_a_file_warns(tmp_path: Path, ip: str) -> None:
    """B139: in a pod 127.0.0.53 is the pod itself, and nobody said so."""
    path = tmp_path / "resolv.conf"
    path.write_text(f"nameserver {ip}\n")
    targets = read_targets(parse_targets([str(path)]), {})
    assert len(targets.addresses) == 1
    assert "loopback" in targets.warnings[0]


def test_quic_has_ports_of_its_own() -> None:
    assert addresses("tls://1.1.1.1", "quic://1.1.1.1", "https://1.1.1.1:853") == ["1.1.1.1:853", "1.1.1.1:853"]


def test_file_comes_before_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tell_hosts(parse_targets(["upstreams"])) == (UpstreamHost("upstreams", 53),)
    (tmp_path / "upstreams").write_text("nameserver 192.0.2.1\n")
    assert tell_hosts(parse_targets(["upstreams"])) == ("upstreams",)
    assert tell_hosts(parse_targets(["tls://upstreams", "/no/such"])) == (
        UpstreamHost("upstreams", 853, "tls"),
        "/no/such",
    )


def test_hosts_stand_where_they_were_written() -> None:
    targets = tell_hosts(parse_targets(["192.0.2.9", "dns.example:54", "192.0.2.1:54"]))
    host = targets[1]
    assert isinstance(host, UpstreamHost)
    read = read_targets(targets, {host: ["192.0.2.1", "2001:db8::1"]})
    assert list(map(str, read.addresses)) == ["192.0.2.9:53", "192.0.2.1:54", "[2001:db8::1]:54"]
