"""Every example on a page that needs no cluster prints what the page shows, but for times and versions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from support.dnscluster import objects, policy
from support.sessions import Step, run_step, sessions
from support.tree import ROOT, pages

INPUTS = ROOT / "tests/data/pages"
"""Files that the sessions of a page find, in a folder of its name."""
LOG = ROOT / "tests/data/querylog/dns.log"
PAGES = [page for page in pages() if sessions(page)]


def sick_cluster(folder: Path) -> None:
    """A policy that forbids DNS, and a node whose resolver is its own."""
    items = [*objects().values(), policy("deny-all", policyTypes=["Egress"])]
    (folder / "dump").mkdir()
    (folder / "dump/everything.yaml").write_text(yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": items}))
    (folder / "node/etc").mkdir(parents=True)
    (folder / "node/etc/resolv.conf").write_text("nameserver 127.0.0.53\n")


def query_log(folder: Path) -> None:
    """The log that other tests read."""
    for name in ("dns.log", "coredns-a.log"):
        shutil.copy(LOG, folder / name)


def both(folder: Path) -> None:
    """A log and a cluster."""
    query_log(folder)
    sick_cluster(folder)


PREPARE: dict[str, Callable[[Path], None]] = {
    "README.md": both,
    "docs/doctor.md": sick_cluster,
    "docs/logs.md": query_log,
    "docs/operate/troubleshooting.md": query_log,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sessions(page: Path, tmp_path: Path) -> None:
    name = str(page.relative_to(ROOT))
    folder = tmp_path / "here"
    inputs = INPUTS / name.removesuffix(".md")
    if inputs.exists():
        shutil.copytree(inputs, folder)
    folder.mkdir(exist_ok=True)
    PREPARE.get(name, lambda folder: None)(folder)
    complaints = [complaint for step in sessions(page) if (complaint := run_step(step, folder))]
    assert complaints == [], "\n\n".join(complaints)


@pytest.mark.parametrize(
    ("command", "shown", "complaint"),
    [
        ("waypost dns-ip 10.96.0.0/12", "10.96.0.10", ""),
        ("waypost dns-ip 10.96.0.0/12", "", ""),
        ("waypost dns-ip 10.96.0.0/12", "10.96...", ""),
        ("waypost dns-ip 10.96.0.0/12", "10.96.0.1", "prints"),
        ("waypost dns-ip 10.96.0.0/12", "10.96.0.10\n10.96.0.10", "prints"),
        ("waypost dns-ip --no-such-flag", "", "does not run"),
        ("kubectl get pods", "nothing", ""),
    ],
)
def test_what_a_session_is_held_to(command: str, shown: str, complaint: str, tmp_path: Path) -> None:
    found = run_step(Step(ROOT / "README.md", command, shown), tmp_path)
    assert complaint in found
    assert bool(found) is bool(complaint)


def test_inputs_have_a_page() -> None:
    names = {str(page.relative_to(ROOT)).removesuffix(".md") for page in PAGES}
    assert {str(folder.relative_to(INPUTS)) for folder in (INPUTS / "docs").iterdir()} <= names


def test_enough_is_shown() -> None:
    steps = [step for page in PAGES for step in sessions(page)]
    assert sum(step.runs_here and bool(step.shown) for step in steps) >= 12
