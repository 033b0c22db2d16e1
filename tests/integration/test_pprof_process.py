"""pprof in the real process: profiles of a server under load, which goes on answering meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import urllib.error
from pathlib import Path

import pytest

from support.load import Load
from support.process import free_port, get, serving

COREFILE = """\
.:{port} {{
    pprof 127.0.0.1:{pprof} {{
        block
    }}
    whoami
}}
"""
TOOLS = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))


def test_profiles_under_load(tmp_path: Path) -> None:
    port, pprof = free_port(), free_port()
    with serving(tmp_path, COREFILE.format(port=port, pprof=pprof), port) as process:
        with Load(port) as load:
            folded = get(pprof, "/debug/pprof/profile?seconds=1&format=folded")
            table = get(pprof, "/debug/pprof/profile?seconds=1&format=text")
        load.check(10)
        assert "waypost.dispatch.serve:Server.serve" in folded
        assert "dispatch/serve.py" in table
        assert "waypost.cli.main" in get(pprof, "/debug/pprof/cmdline")
        assert " tasks" in get(pprof, "/debug/pprof/goroutine")
        assert process.stop() == 0


@pytest.mark.parametrize("page", ["profile", "profile?format=folded", "heap", "block"])
def test_the_end_of_the_process_does_not_wait_for_a_profile(page: str, tmp_path: Path) -> None:
    port, pprof = free_port(), free_port()
    asked = f"/debug/pprof/{page}{'&' if '?' in page else '?'}seconds=45"
    with (
        serving(tmp_path, COREFILE.format(port=port, pprof=pprof), port) as process,
        socket.create_connection(("127.0.0.1", pprof)) as sock,
    ):
        sock.sendall(f"GET {asked} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        process.until(lambda: refused(pprof), "the measurement")
        assert process.stop() == 0


def refused(pprof: int) -> bool:
    """Whether something is being measured already."""
    try:
        get(pprof, "/debug/pprof/heap?seconds=1")
    except urllib.error.HTTPError as exc:
        return exc.code == 503
    return False


@pytest.mark.skipif(shutil.which("py-spy", path=TOOLS) is None, reason="py-spy is not installed")
def test_py_spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", TOOLS)
    port, pprof = free_port(), free_port()
    with serving(tmp_path, COREFILE.format(port=port, pprof=pprof), port):
        with Load(port) as load:
            try:
                text = get(pprof, "/debug/pprof/profile?seconds=1&format=speedscope")
            except urllib.error.HTTPError as exc:
                pytest.skip(f"py-spy may not look into processes here: {exc.read().decode()}")
        load.check(10)
    frames = json.loads(text)["shared"]["frames"]
    assert any(frame["name"] == "serve" for frame in frames)
