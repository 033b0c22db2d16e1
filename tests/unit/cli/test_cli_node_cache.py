"""What `waypost node-cache` says before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from waypost.cli import node_cache
from waypost.toolkit import extras

FLAGS = ["-localip", "169.254.20.10", "-conf", "Corefile"]
BARE = ["-setupinterface=false", "-setupiptables=false"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], 'Error parsing flags - invalid localip specified - "", Exiting\n'),
        (
            [*FLAGS, "-health-port", "http"],
            'Error parsing flags - invalid healthcheck port specified - "http", Exiting\n',
        ),
        ([*FLAGS, "-dns.port", "domain"], 'Error parsing flags - invalid port specified - "domain", Exiting\n'),
        ([*FLAGS, *BARE, "-basecorefile", "gone"], "waypost: gone: no such file or directory\n"),
        ([*FLAGS, *BARE, "-basecorefile", "base"], "waypost: base:1: __PILLAR__DNS__DOMAIN__ is filled in by"),
    ],
)
def test_errors(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base").write_text("__PILLAR__DNS__DOMAIN__:53 {\n}\n")
    assert node_cache.main(words) == 1
    assert capsys.readouterr().err.startswith(says)


def test_a_missing_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda package: None)
    assert node_cache.main(FLAGS) == 1
    assert capsys.readouterr().err == (
        "waypost: node-cache needs the package pyroute2, which is not installed: pip install 'waypost[nodecache]'\n"
    )
