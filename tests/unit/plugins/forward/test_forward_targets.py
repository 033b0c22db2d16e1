"""TO arguments, and resolv.conf files that change."""

from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from waypost.corefile.errors import CorefileError
from waypost.log import Log
from waypost.plugins.forward.targets import follow_files, parse_targets, read_targets
from waypost.toolkit.upstream_address import UpstreamAddress


def addresses(*texts: str) -> list[str]:
    return [str(address) for address in read_targets(parse_targets(texts)).addresses]


def test_duplicates_count_once_whatever_the_scheme() -> None:
    assert addresses("1.1.1.1", "tls://1.1.1.1:53", "1.1.1.1:53", "1.1.1.1:54") == ["1.1.1.1:53", "1.1.1.1:54"]
    assert not read_targets(parse_targets(["1.1.1.1", "tls://1.1.1.1:53"])).addresses[0].tls
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
    targets = read_targets(parse_targets([str(path)]))
    assert [address.ip for address in targets.addresses] == ["192.0.2.1"]
    assert f"nameserver not-an-ip in {path} is not an IP address and is ignored" in targets.warnings


@pytest.mark.parametrize("ip", ["127.0.0.53", "::1"])
def test_loopback_in_a_file_warns(tmp_path: Path, ip: str) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(f"nameserver {ip}\n")
    targets = read_targets(parse_targets([str(path)]))
    assert len(targets.addresses) == 1
    assert "loopback" in targets.warnings[0]


class FakeGroup:
    """Remembers the lists it was given."""

    def __init__(self, *ips: str) -> None:
        self.members = self._members(UpstreamAddress(ip, 53) for ip in ips)
        self.lists: list[list[str]] = []

    @staticmethod
    def _members(addresses: Any) -> list[Any]:
        return [SimpleNamespace(address=address) for address in addresses]

    def replace(self, addresses: list[UpstreamAddress]) -> None:
        self.lists.append([address.ip for address in addresses])
        self.members = self._members(addresses)


def put(path: Path, content: str | None, modified: int) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
        os.utime(path, ns=(modified, modified))


async def follow(path: Path, group: FakeGroup, *contents: str | None) -> list[str]:
    """Follow a file through these contents, one a poll; gives the log lines."""
    stream = io.StringIO()
    script = iter(enumerate(contents, 1))

    async def next_content(seconds: float) -> None:
        step = next(script, None)
        if step is None:
            raise asyncio.CancelledError
        put(path, step[1], step[0])

    with pytest.raises(asyncio.CancelledError):
        await follow_files([str(path)], cast(Any, group), lambda address: address, Log(stream), next_content)
    return stream.getvalue().splitlines()


async def test_changes_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 192.0.2.1\n")
    group = FakeGroup("192.0.2.1")
    lines = await follow(
        path,
        group,
        "nameserver 192.0.2.1\n# a comment changes nothing\n",
        "nameserver 192.0.2.2\nnameserver 192.0.2.3\n",
        "nameserver 192.0.2.3\n",
    )
    assert group.lists == [["192.0.2.2", "192.0.2.3"], ["192.0.2.3"]]
    assert lines == [
        "[INFO] upstreams are now 192.0.2.2:53, 192.0.2.3:53",
        "[INFO] upstreams are now 192.0.2.3:53",
    ]


async def test_change_between_setup_and_start_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 192.0.2.2\n")
    group = FakeGroup("192.0.2.1")
    await follow(path, group)
    assert group.lists == [["192.0.2.2"]]


async def test_list_never_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 192.0.2.1\n")
    group = FakeGroup("192.0.2.1")
    many = "".join(f"nameserver 192.0.2.{n}\n" for n in range(20))
    lines = await follow(path, group, "", None, "nameserver nonsense\n", many, "nameserver 192.0.2.1\n")
    assert group.lists == []
    assert lines == [
        "[WARNING] upstreams stay as they are: no nameservers found",
        f'[WARNING] upstreams stay as they are: not an IP address or file: "{path}"',
        f"[WARNING] nameserver nonsense in {path} is not an IP address and is ignored",
        "[WARNING] upstreams stay as they are: more than 15 TOs configured: 20",
    ]
