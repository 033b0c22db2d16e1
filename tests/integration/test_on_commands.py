"""`on` in the real process: commands at its start, at each reload, and at its end, and none that outlives it."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from support.process import ServerProcess, ask, free_port, serving

COREFILE = """\
.:{port} {{
    on startup {note} started
    on startup {stay} {folder}/pid &
    on startup {note} after
    on shutdown {note} ended
    whoami
}}
"""
NOTE = """\
import sys
with open({path!r}, "a") as file:
    file.write(sys.argv[1] + "\\n")
"""
STAY = """\
import os, sys, time
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(600)
"""


def corefile(folder: Path, port: int) -> str:
    """One whose commands note in `notes` that they ran; one of them stays, and notes its process id in `pid`."""
    (folder / "note.py").write_text(NOTE.format(path=str(folder / "notes")))
    (folder / "stay.py").write_text(STAY)
    note, stay = (f"{sys.executable} {folder / name}" for name in ("note.py", "stay.py"))
    return COREFILE.format(port=port, folder=folder, note=note, stay=stay)


def notes(folder: Path) -> list[str]:
    path = folder / "notes"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_start_and_end(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    with serving(tmp_path, corefile(tmp_path, port), port) as process:
        process.until(lambda: len(notes(tmp_path)) == 2, "both commands")
        process.until((tmp_path / "pid").exists, "the one that stays")
        pid = int((tmp_path / "pid").read_text())
        assert Path(f"/proc/{pid}").exists()
        assert process.stop(number) == 0
        assert notes(tmp_path) == ["started", "after", "ended"]
        assert not Path(f"/proc/{pid}").exists()
    assert sum("Nonblocking Command" in line for line in process.lines) == 1
    assert sum("[INFO] Blocking Command" in line for line in process.lines) == 3


def test_a_reload_starts_commands_once_more(tmp_path: Path) -> None:
    port = free_port()
    with serving(tmp_path, corefile(tmp_path, port), port) as process:
        process.until(lambda: len(notes(tmp_path)) == 2, "both commands")
        process.until((tmp_path / "pid").exists, "the one that stays")
        first = int((tmp_path / "pid").read_text())
        for times in (1, 2):
            process.kill(signal.SIGUSR1)
            process.says("Reloading complete", times)
            expected = 2 + 2 * times
            process.until(lambda expected=expected: len(notes(tmp_path)) == expected, f"{expected} commands")
        assert notes(tmp_path) == ["started", "after"] * 3
        assert Path(f"/proc/{first}").exists(), "a reload ended a command"
        assert process.stop() == 0
        assert not Path(f"/proc/{first}").exists()


def test_a_command_that_does_not_end_delays_neither_answers_nor_the_end(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "stay.py").write_text(STAY)
    text = f".:{port} {{\n on startup {sys.executable} {tmp_path}/stay.py {tmp_path}/pid\n whoami\n}}\n"
    (tmp_path / "Corefile").write_text(text)
    with ServerProcess(["-conf", "Corefile"], cwd=tmp_path) as process:
        process.serving(port).until((tmp_path / "pid").exists, "the command")
        assert ask(port).rcode() == 0
        assert process.stop() == 0
        assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
