"""The Dockerfile, as far as it can be judged without an engine: what it copies, who runs, and that it starts."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from support import container
from support.tree import ROOT
from waypost import __version__

NEEDED = ("setcap", "unshare", "nsenter", "ip")
UNABLE = (
    "only root may start a process as a container runtime does"
    if os.geteuid() != 0
    else ", ".join(f"no {name} on the PATH" for name in NEEDED if shutil.which(name) is None)
)
ASK = """
import sys, dns.message, dns.query, dns.rcode
query = dns.message.make_query("a.test", "A")
for ask in (dns.query.udp, dns.query.tcp):
    print(dns.rcode.to_text(ask(query, "127.0.0.1", timeout=10).rcode()))
"""


class Instruction(NamedTuple):
    """One instruction of a Dockerfile."""

    name: str
    text: str


def stages() -> list[list[Instruction]]:
    """The instructions of each stage, the first of each its FROM."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    found: list[list[Instruction]] = []
    for line in filter(None, map(str.strip, lines)):
        name, rest = line.split(None, 1)
        if name == "FROM":
            found.append([])
        found[-1].append(Instruction(name, rest))
    return found


def ignored(path: Path) -> bool:
    """Whether .dockerignore keeps a file of the tree from the engine: its last pattern that fits decides."""
    kept_out = False
    for pattern in (ROOT / ".dockerignore").read_text(encoding="utf-8").split():
        wanted = pattern.removeprefix("!")
        parts = path.relative_to(ROOT).parts
        if wanted in ("*", parts[0]) or (wanted.startswith("**/") and wanted[3:] in parts):
            kept_out = not pattern.startswith("!")
    return kept_out


def copied() -> Iterator[Path]:
    """What is copied from the tree."""
    for instruction in (each for stage in stages() for each in stage if each.name == "COPY"):
        *sources, _ = instruction.text.split()
        if not sources[0].startswith("--from="):
            yield from (ROOT / source for source in sources)


def test_what_is_copied_is_there() -> None:
    found = list(copied())
    assert len(found) >= 4
    for path in found:
        assert path.exists(), path
        assert not ignored(path), path
    for name in ("build", "run", "dev"):
        assert (ROOT / f"requirements/{name}.txt").exists()
    assert ignored(ROOT / "tests")
    assert ignored(ROOT / "src/waypost/__pycache__/x.pyc")


def test_the_last_stage_has_nothing_to_build_with() -> None:
    build, last = stages()
    assert build[0].text.endswith(" AS build")
    assert [each.name for each in last] == ["FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "EXPOSE", "ENTRYPOINT"]
    installed = re.search(r"--no-install-recommends ([a-z0-9 -]+?) &&", re.sub(r"\s+", " ", last[1].text))
    assert installed is not None
    assert installed[1].split() == ["python3", "ca-certificates"]
    assert last[2].text == "--from=build /opt/waypost /opt/waypost"
    assert "--without-pip /opt/waypost" in build[2].text


def test_it_is_nobody() -> None:
    [user] = [each.text for each in stages()[-1] if each.name == "USER"]
    assert user == f"{container.USER}:{container.USER}", "a name would not tell Kubernetes that it is not root"


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One that every user may read: pytest's are its own user's alone."""
    with tempfile.TemporaryDirectory(prefix="waypost-image-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def environment(folder: Path) -> Path:
    """A virtual environment made as in the build stage; dependencies are those of this one."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = folder / "src"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source / name)
    wheels = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(source)]
    subprocess.run([*pip, *wheels], check=True, capture_output=True)
    venv.create(folder / "waypost", symlinks=False, with_pip=False)
    [wheel] = folder.glob("*.whl")
    python = folder / "waypost/bin/python3"
    install = ["--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, *install], check=True, capture_output=True)
    [packages] = (folder / "waypost/lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "waypost"


def test_the_entry_point_starts(environment: Path) -> None:
    [text] = [each.text for each in stages()[-1] if each.name == "ENTRYPOINT"]
    [program] = json.loads(text)
    command = [str(environment / Path(program).relative_to("/opt/waypost")), "version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")
    assert __version__ in done.stdout


@pytest.mark.skipif(bool(UNABLE), reason=UNABLE)
def test_serves_port_53_as_kubernetes_starts_it(environment: Path, folder: Path) -> None:
    """In a network of its own, where ports below 1024 need the capability; without the file's it cannot."""
    corefile = folder / "Corefile"
    corefile.write_text(".:53 {\n    whoami\n}\n")
    python = environment / "bin/python3"
    program = [str(environment / "bin/waypost"), "-conf", str(corefile)]
    command = [sys.executable, "-m", "support.container", *program]
    enclosed = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
    refused = subprocess.run(enclosed, env=env, capture_output=True, text=True, timeout=20, check=False, cwd="/")
    assert refused.returncode == 1
    assert "permission denied" in refused.stderr
    if subprocess.run(["setcap", "cap_net_bind_service=+ep", str(python)], capture_output=True, check=False).returncode:
        pytest.skip("the file system keeps no capabilities")
    with subprocess.Popen(enclosed, env=env, stdout=subprocess.PIPE, text=True, cwd="/") as server:
        try:
            assert server.stdout is not None
            while not server.stdout.readline().startswith("Waypost-"):
                assert server.poll() is None
            ask = ["nsenter", "--target", str(server.pid), "--net", sys.executable, "-c", ASK]
            answers = subprocess.run(ask, capture_output=True, text=True, timeout=20, check=False)
            assert answers.stdout.split() == ["NOERROR", "NOERROR"], answers.stderr
            status = Path(f"/proc/{server.pid}/status").read_text(encoding="ascii")
            assert re.search(r"^Uid:\t65532\t65532", status, re.MULTILINE)
            assert re.search(r"^CapEff:\t0+400$", status, re.MULTILINE)
        finally:
            server.terminate()
