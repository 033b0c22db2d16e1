"""The benchmark itself works where dnsperf is there; where it is not it says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from support.tree import ROOT

NEEDS_DNSPERF = pytest.mark.skipif(shutil.which("dnsperf") is None, reason="dnsperf is not installed")


def bench(*words: str, path: str = os.environ["PATH"]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "bench" / words[0]), *words[1:]],
        capture_output=True, text=True, check=False, env={**os.environ, "PATH": path},
    )  # fmt: skip


@NEEDS_DNSPERF
@pytest.mark.timeout(180)
def test_quick_run_measures_writes_and_draws(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    words = ("--quick", "--rounds", "1", "--services", "50", "--seconds", "0.2")
    done = bench("run.py", *words, "--markdown", "--json", str(figures), "--svg", str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["loads"]["mixed"]["waypost"][0]["cpu"] > 0
    assert found["loads"]["mixed"]["waypost +log"][0]["lost"] == 0
    assert found["starts"].keys() == {"10", "50"}
    assert "| mixed | waypost |" in done.stdout
    for name in ("cpu.svg", "latency.svg"):
        ET.parse(tmp_path / name)


def test_profile_knows_the_way_of_every_load() -> None:
    done = bench("profile.py", "stages", "--services", "50", "--queries", "256", "--passes", "1")
    assert done.returncode == 0, done.stderr
    rows = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in done.stdout.splitlines() if line[:1] == "|"}
    mixed, distinct, missing = (float(cell) for cell in rows["kubernetes"][:3])
    assert min(mixed, distinct, missing) > 0
    assert float(rows["forward"][-1]) > 0
    assert [bool(cell.strip()) for cell in rows["memo, asked again"]] == [True, True, True, True, False]


@pytest.mark.parametrize(("script", "code"), [("run.py", 1), ("check.py", 0), ("growth.py", 1), ("cache_memory.py", 1)])
def test_without_dnsperf_it_says_so(tmp_path: Path, script: str, code: int) -> None:
    done = bench(script, path=str(tmp_path))
    assert done.returncode == code
    assert "dnsperf is not installed" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
