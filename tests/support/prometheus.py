"""Debian's Prometheus and promtool: a server that scrapes targets of ours, and their skips where they are missing."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
import yaml

from support.process import free_port

_PATIENCE = 20.0


def tool(name: str) -> str:
    """The path of `prometheus` or `promtool`; skips the test without it."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} on the PATH (apt-get install prometheus)")
    return found


class Prometheus:
    """A Prometheus with its data in `folder`. `jobs` are names with the ports of their targets on loopback."""

    def __init__(self, folder: Path, jobs: dict[str, Sequence[int]], rules: Path) -> None:
        self._port = free_port()
        scrapes = [
            {"job_name": job, "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}]}
            for job, ports in jobs.items()
        ]
        often = {"scrape_interval": "500ms", "scrape_timeout": "500ms", "evaluation_interval": "1s"}
        config = {"global": often, "rule_files": [str(rules)], "scrape_configs": scrapes}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
        words = [f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"]
        words.append(f"--web.listen-address=127.0.0.1:{self._port}")
        self._log = (folder / "prometheus.log").open("wb")
        self._popen = subprocess.Popen([tool("prometheus"), *words], stdout=self._log, stderr=self._log)

    def __enter__(self) -> Self:
        deadline = time.monotonic() + _PATIENCE
        while not self._ready():
            assert time.monotonic() < deadline, "Prometheus does not become ready"
            time.sleep(0.05)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._popen.terminate()
        self._popen.wait(_PATIENCE)
        self._log.close()

    def get(self, path: str, **words: str) -> Any:
        """The `data` of an answer of the HTTP API; the error as text if it is one."""
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{words}: {json.load(error)['error']}") from None

    def numbers(self, expr: str) -> list[float]:
        """The values of an instant query now, without those that are no numbers. Fails if it cannot be evaluated."""
        found = self.get("query", query=expr)["result"]
        return [value for value in (float(each["value"][1]) for each in found) if not math.isnan(value)]

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/-/ready", timeout=1) as response:
                return bool(response.status == 200)
        except OSError:
            return False
