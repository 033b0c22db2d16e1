"""Everything one run of a suite stands on: a folder, ports, upstreams, the server process."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.suite_runner.emulator import LoopThread, Upstream
from support.suite_runner.ports import Ports
from support.suite_runner.process import ServerProcess
from support.suite_runner.suite import Suite, fill

_START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Host:
    """What the runs of one process share. `tmp` is where their folders are made."""

    loop: LoopThread
    ports: Ports
    tmp: Path


class Stage:
    """A suite's surroundings while it runs; use as a context manager. Raises ServerFailed on entering."""

    def __init__(self, suite: Suite, host: Host, cluster_line: str = "") -> None:
        self.suite = suite
        self.loop = host.loop
        self.upstreams: dict[int, Upstream] = {}
        self.placeholders: dict[str, str] = {}
        self._host = host
        self._cluster_line = cluster_line
        self._stack = ExitStack()

    def __enter__(self) -> Stage:
        with self._stack:
            self._set_up()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def fill(self, value: Any) -> Any:
        """`value` with its placeholders replaced."""
        return fill(value, self.placeholders)

    def port(self, text: str) -> int:
        """A port, as `{PORT2}`."""
        return int(self.fill(text))

    def write(self, files: dict[str, str | None]) -> None:
        """Write files of the folder, each at one stroke; None removes."""
        for name, text in files.items():
            path = self.folder / self.fill(name)
            if text is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.tmp~")
            draft.write_text(self.fill(text).replace("{CLUSTER}", self._cluster_line), encoding="utf-8", newline="")
            draft.replace(path)

    def _set_up(self) -> None:
        suite, stack = self.suite, self._stack
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="suite-", dir=self._host.tmp)))
        ports = {name: self._host.ports.take() for name in suite.ports}
        stack.callback(self._host.ports.give_back, ports.values())
        self.placeholders = {"DIR": str(self.folder), **{name: str(port) for name, port in ports.items()}}
        self.write({**suite.files, "Corefile": suite.corefile})
        for number, rules in suite.upstreams.items():
            upstream = self.upstreams[number] = Upstream(ports[f"UP{number}"], self.fill(rules))
            self.loop.run(upstream.start())
            stack.callback(self._stop, upstream)
        command = [sys.executable, "-m", "waypost.cli.main", "-conf", str(self.folder / "Corefile")]
        self.server = stack.enter_context(ServerProcess(command, self.folder, self.fill(suite.env)))
        if not suite.exits:
            self.server.wait_until_up(ports["PORT"], _START_SECONDS)

    def _stop(self, upstream: Upstream) -> None:
        self.loop.run(upstream.stop())
