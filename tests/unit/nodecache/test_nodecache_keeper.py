"""The Corefile follows its sources, and errors leave it as it is."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest

from waypost.log import Log
from waypost.nodecache.failure import SetupError
from waypost.nodecache.keeper import CorefileKeeper
from waypost.nodecache.settings import Settings

BASE = ".:53 {\n    bind __PILLAR__LOCAL__DNS__\n    forward . __PILLAR__UPSTREAM__SERVERS__\n}\n"
ENVIRONMENT = {"KUBE_DNS_SERVICE_HOST": "10.96.0.77"}


class Kept:
    """A keeper over the files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.base = folder / "Corefile.base"
        self.kube_dns = folder / "kube-dns"
        self.kube_dns.mkdir()
        self.base.write_text(BASE)
        self.said = io.StringIO()
        self.failures: list[str] = []
        self.settings = Settings(
            ("169.254.20.10",),
            corefile=str(folder / "Corefile"),
            base_corefile=str(self.base),
            kube_dns_folder=str(self.kube_dns),
        )
        self.keeper = CorefileKeeper(self.settings, ENVIRONMENT, Log(self.said), self.failures.append)

    @property
    def text(self) -> str:
        return Path(self.settings.corefile).read_text()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    kept = Kept(tmp_path)
    kept.keeper.write_first()
    return kept


def test_a_changed_template_and_a_changed_config_map(kept: Kept) -> None:
    assert kept.text == ".:53 {\n    bind 169.254.20.10\n    forward . /etc/resolv.conf\n}\n"
    assert not kept.keeper.look_again()
    kept.base.write_text(BASE.replace(".:53", "org:53"))
    assert kept.keeper.look_again()
    assert kept.text.startswith("org:53 {")
    (kept.kube_dns / "upstreamNameservers").write_text('["8.8.8.8"]')
    (kept.kube_dns / "stubDomains").write_text('{"a.test": ["192.0.2.1"]}')
    assert kept.keeper.look_again()
    assert "forward . 8.8.8.8\n" in kept.text
    assert "a.test:53 {" in kept.text
    assert not kept.keeper.look_again()
    assert kept.failures == []


@pytest.mark.parametrize(
    ("key", "data", "says"),
    [
        ("stubDomains", b"{", "kube-dns: data.stubDomains: not JSON"),
        ("stubDomains", b'{"a.test": []}', "expected a list of servers"),
        ("stubDomains", b'{"a.test": ["tls://192.0.2.1"]}', "expected an address such as"),
        ("upstreamNameservers", b'["a", "b", "c", "d"]', "at most 3 servers"),
        ("upstreamNameservers", b"\xff", "expected text in UTF-8, byte 0 is none"),
    ],
)
def test_a_bad_config_map_leaves_the_last_good_corefile(kept: Kept, key: str, data: bytes, says: str) -> None:
    (kept.kube_dns / "upstreamNameservers").write_text('["8.8.8.8"]')
    assert kept.keeper.look_again()
    before = kept.text
    (kept.kube_dns / key).write_bytes(data)
    assert not kept.keeper.look_again()
    assert kept.text == before
    assert kept.failures[0] == "configmap"
    assert says in kept.said.getvalue()
    (kept.kube_dns / key).write_text("")
    kept.keeper.look_again()
    assert kept.keeper.look_again() is False


def test_a_bad_config_map_at_the_start_is_left_out_and_watched(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    (kept.kube_dns / "stubDomains").write_text("no")
    kept.keeper.write_first()
    assert kept.failures == ["configmap"]
    assert "a.test" not in kept.text
    (kept.kube_dns / "stubDomains").write_text('{"a.test": ["192.0.2.1"]}')
    assert kept.keeper.look_again()
    assert "a.test:53 {" in kept.text


def test_a_template_that_cannot_be_used(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.base.write_text("__PILLAR__DNS__DOMAIN__:53 {\n}\n")
    with pytest.raises(SetupError, match=r"Corefile\.base:1: __PILLAR__DNS__DOMAIN__"):
        kept.keeper.write_first()
    kept.base.unlink()
    with pytest.raises(SetupError, match=r"Corefile\.base: no such file or directory"):
        kept.keeper.write_first()
    kept.base.write_text(BASE)
    kept.keeper.write_first()
    kept.base.write_text("forward . __PILLAR__X__\n")
    assert not kept.keeper.look_again()
    assert kept.text.startswith(".:53 {")


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    settings = replace(kept.settings, corefile=str(tmp_path / "gone" / "Corefile"))
    with pytest.raises(SetupError, match="gone/Corefile: no such file or directory"):
        CorefileKeeper(settings, ENVIRONMENT, Log(kept.said), kept.failures.append).write_first()
