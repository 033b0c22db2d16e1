"""The Corefiles that stand on the project's pages."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from support.geoip import write_database
from support.tree import ROOT, code_blocks, pages
from waypost.control.files import Source
from waypost.control.supervisor import Settings, Supervisor
from waypost.log import Log

_KEYS = ROOT / "tests/data/keys"
_KEY_FILE = re.compile(r"(\bkey file ).*/")
_TLS = ROOT / "tests/data/kube-tls"
_TLS_FILES = {"cert": "server.pem", "key": "server.key", "ca": "ca.pem"}
_TLS_FILE = re.compile(r"\bcerts/(cert|key|ca)\.pem")
_DATABASE = re.compile(r"(\bgeoip )\S+")


@dataclass(frozen=True)
class Example:
    """A Corefile on a page."""

    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def directives(self) -> set[str]:
        """The first words of its lines."""
        return {line.split()[0] for line in self.text.splitlines() if line.strip()}

    def prepare(self, folder: Path, supervisor: Supervisor | None = None) -> None:
        """Set it up with files of ours, starting nothing, as in a pod of a cluster. Raises CorefileError."""
        path = folder / "Corefile"
        text = _KEY_FILE.sub(rf"\1{_KEYS}/", self.text)
        text = _TLS_FILE.sub(lambda match: str(_TLS / _TLS_FILES[match[1]]), text)
        if "geoip" in self.directives:
            text = _DATABASE.sub(rf"\1{write_database(folder / 'geoip.mmdb')}", text)
        path.write_text(text, encoding="utf-8")
        supervisor = supervisor or make_supervisor(path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
            patch.setenv("KUBERNETES_SERVICE_PORT", "443")
            supervisor.prepare(*supervisor.read())


def make_supervisor(corefile: Path) -> Supervisor:
    """One that says nothing."""
    return Supervisor(Settings(Source(str(corefile))), Log(io.StringIO()), lambda code: None)


@cache
def examples() -> tuple[Example, ...]:
    """All of them."""
    return tuple(Example(page, line, text) for page in pages() for line, text in code_blocks(page, "corefile"))
