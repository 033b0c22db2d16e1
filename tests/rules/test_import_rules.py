"""Imports run one way, and every module can be the first that a process imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.tree import ROOT, SOURCE, module_name, source_files

# What is imported first is not ours and costs the most, so that each fork pays for our modules alone.
IMPORT_EACH_ALONE = """
import importlib, os, sys, traceback
import dns.message, msgspec, prometheus_client, rich.console, yaml
assert not any(name.partition(".")[0] == "waypost" for name in sys.modules)
failed = 0
for name in sys.argv[1:]:
    child = os.fork()
    if child == 0:
        try:
            importlib.import_module(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    failed += os.waitpid(child, 0)[1] != 0
sys.exit(failed > 0)
"""


def by_package() -> dict[str, list[str]]:
    """Module names by the first package below ours."""
    found: dict[str, list[str]] = {}
    for name in map(module_name, source_files()):
        found.setdefault(".".join(name.split(".")[:2]), []).append(name)
    return found


@pytest.mark.parametrize("names", by_package().values(), ids=by_package().keys())
def test_each_module_can_be_imported_first(names: list[str]) -> None:
    command = [sys.executable, "-c", IMPORT_EACH_ALONE, *names]
    outcome = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
