"""`waypost logs` when it is interrupted, and what it leaves behind in its process."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from support.querylog import line
from waypost.cli.main import main


class Interrupted:
    """A log that somebody stops with Ctrl-C after its first lines."""

    def __init__(self) -> None:
        self.left = [f"{line('a.example.')}\n".encode() * 3]

    def read(self, size: int) -> bytes:
        if not self.left:
            raise KeyboardInterrupt
        return self.left.pop(0)


def test_ctrl_c_ends_the_reading(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Interrupted()))
    assert main(["logs"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("3 lines: 3 queries\n")
    assert shown.err == "waypost: interrupted; this is what was read until then\n"


def test_the_collector_is_on_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["logs", "nowhere.log"]) == 1
    assert gc.isenabled()
    assert "nowhere.log: No such file" in capsys.readouterr().err


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    log = Interrupted()
    log.left.append(b"")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=log))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("waypost.cli.logs._PROGRESS_SECONDS", -1.0)
    assert main(["logs"]) == 0
    assert capsys.readouterr().err == "\r0 queries\r\x1b[K"
