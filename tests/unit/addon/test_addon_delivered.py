"""The folders deploy/ and charts/ are what the command writes now, and kustomize makes our objects of the one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from support.tree import ROOT
from support.validating import by_name
from waypost import __version__
from waypost.addon.bundle import Parts, objects
from waypost.addon.chart import chart_files
from waypost.addon.kustomize import kustomize_files
from waypost.addon.nodelocal import NodeLocal
from waypost.addon.settings import Json, Settings

IMAGE = f"waypost:{__version__}"
SETTINGS = Settings(IMAGE)
KUBECTL = shutil.which("kubectl")


@pytest.mark.parametrize(
    ("folder", "files"),
    [("deploy", kustomize_files(IMAGE)), ("charts/waypost", chart_files(IMAGE, __version__))],
    ids=["deploy", "charts"],
)
def test_delivered_as_made(folder: str, files: dict[str, str]) -> None:
    """Otherwise: `waypost manifests --kustomize deploy` and `waypost manifests --chart charts/waypost`."""
    for path, text in files.items():
        assert (ROOT / folder / path).read_text(encoding="utf-8") == text, path
    made = {Path(path).parts[0] for path in files}
    assert {entry.name for entry in (ROOT / folder).iterdir()} == made


def kustomized(folder: Path, *components: str) -> list[Json]:
    """What kubectl makes of an overlay."""
    if KUBECTL is None:
        pytest.skip("no kubectl on the PATH: it renders kustomize bases")
    shutil.copytree(ROOT / "deploy", folder / "deploy")
    overlay = {
        "resources": ["deploy/base"],
        "components": [f"deploy/{name}" for name in components],
        "images": [{"name": "waypost", "newName": "registry.example/waypost"}],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    command = [KUBECTL, "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def test_kustomize_base(tmp_path: Path) -> None:
    expected = by_name(objects(Settings("registry.example/" + IMAGE), Parts()))
    assert by_name(kustomized(tmp_path)) == expected


@pytest.mark.parametrize(
    ("component", "parts"),
    [
        ("node-local", Parts(node_local=NodeLocal())),
        ("node-local-ipvs", Parts(node_local=NodeLocal("ipvs"))),
        ("node-local-cilium", Parts(node_local=NodeLocal("cilium"))),
        ("service-monitor", Parts(service_monitor=True)),
        ("observability", Parts(prometheus_rules=True, dashboards=True)),
        ("autoscaler", Parts(autoscaler=True)),
    ],
)
def test_kustomize_components(component: str, parts: Parts, tmp_path: Path) -> None:
    replicas = None if parts.autoscaler else SETTINGS.replicas
    expected = by_name(objects(Settings("registry.example/" + IMAGE, replicas=replicas), parts))
    assert by_name(kustomized(tmp_path, component)) == expected
