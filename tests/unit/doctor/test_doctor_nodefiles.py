"""The files of a node, and of a copy of one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from waypost.diagnosis.facts import NodeText
from waypost.diagnosis.finding import Gap
from waypost.doctor.nodefiles import read_file, read_node
from waypost.podside.policy import Kubelet


def put(root: Path, path: str, text: str) -> None:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_everything(tmp_path: Path) -> None:
    put(tmp_path, "/etc/resolv.conf", "nameserver 192.0.2.53\n")
    put(tmp_path, "/proc/net/stat/nf_conntrack", "x")
    put(tmp_path, "/proc/sys/net/netfilter/nf_conntrack_max", "10\n")
    found = read_node(str(tmp_path))
    assert found.resolv_conf == NodeText("/etc/resolv.conf", b"nameserver 192.0.2.53\n")
    assert found.conntrack == NodeText("/proc/net/stat/nf_conntrack", b"x")
    assert isinstance(found.conntrack_max, NodeText)
    assert found.conntrack_count == Gap("/proc/sys/net/netfilter/nf_conntrack_count: No such file or directory")
    assert isinstance(found.kubelet, Gap)


def test_the_file_that_the_kubelet_hands_on(tmp_path: Path) -> None:
    put(tmp_path, "/var/lib/kubelet/config.yaml", "clusterDNS: [10.96.0.10]\nresolvConf: /run/real.conf\n")
    put(tmp_path, "/etc/resolv.conf", "nameserver 127.0.0.53\n")
    put(tmp_path, "/run/real.conf", "nameserver 192.0.2.53\n")
    found = read_node(str(tmp_path))
    assert found.kubelet == Kubelet(("10.96.0.10",), "", "/run/real.conf")
    assert found.resolv_conf == NodeText("/run/real.conf", b"nameserver 192.0.2.53\n")


def test_a_kubelet_that_hands_on_none(tmp_path: Path) -> None:
    put(tmp_path, "/var/lib/kubelet/config.yaml", 'resolvConf: ""\n')
    found = read_node(str(tmp_path)).resolv_conf
    assert isinstance(found, Gap)
    assert 'resolvConf: ""' in found.reason


class TestLinks:
    @pytest.mark.parametrize("target", ["/run/stub.conf", "../run/stub.conf", "../../../run/./stub.conf"])
    def test_they_stay_in_the_copy(self, tmp_path: Path, target: str) -> None:
        put(tmp_path, "/run/stub.conf", "copied\n")
        put(tmp_path, "/etc/other", "")
        os.symlink(target, tmp_path / "etc/resolv.conf")
        assert read_file(str(tmp_path), "/etc/resolv.conf") == NodeText("/etc/resolv.conf", b"copied\n")

    def test_a_linked_folder(self, tmp_path: Path) -> None:
        put(tmp_path, "/run/stub.conf", "copied\n")
        os.symlink("/run", tmp_path / "etc")
        assert read_file(str(tmp_path), "/etc/stub.conf") == NodeText("/etc/stub.conf", b"copied\n")

    def test_a_circle(self, tmp_path: Path) -> None:
        os.symlink("/b", tmp_path / "a")
        os.symlink("/a", tmp_path / "b")
        assert isinstance(read_file(str(tmp_path), "/a"), Gap)

    def test_never_this_machines_file(self, tmp_path: Path) -> None:
        os.symlink("/etc/passwd", tmp_path / "resolv.conf")
        assert isinstance(read_file(str(tmp_path), "/resolv.conf"), Gap)


@pytest.mark.parametrize("path", ["/pipe", "/folder", "/\x00"])
def test_what_is_no_file(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert isinstance(read_file(str(tmp_path), path), Gap)
