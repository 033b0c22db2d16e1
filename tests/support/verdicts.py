"""Recorded verdicts on Corefiles, and ours: a configuration is set up, started on real sockets, and stopped."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import msgspec
import pytest

from support.directives import used
from support.suite_runner.ports import Ports
from support.suite_runner.suite import PORTS, fill
from waypost.control.files import Source
from waypost.control.instance import Instance
from waypost.control.supervisor import Settings, Supervisor
from waypost.corefile.errors import CorefileError
from waypost.log import Log

_IN_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")
_PLAIN = {**dict.fromkeys(PORTS, "1053"), "DIR": "."}


class Verdict(msgspec.Struct, frozen=True):
    """What CoreDNS says of a Corefile: whether it starts, and the error if it does not."""

    id: str
    corefile: str
    files: dict[str, str]
    valid: bool
    error: str
    env: Mapping[str, str] = MappingProxyType({})

    def directives(self) -> set[str]:
        """What the Corefile uses; nothing if it does not parse."""
        files = {name: fill(text, _PLAIN) for name, text in self.files.items()}
        return used(fill(self.corefile, _PLAIN), files, self.env)


@dataclass(slots=True)
class Trial:
    """A Corefile before us. `error` is empty as long as nothing is wrong, and has placeholders as in the recording."""

    verdict: Verdict
    placeholders: dict[str, str]
    error: str = ""
    instance: Instance | None = field(default=None, repr=False)

    def fail(self, error: Exception) -> None:
        """Note why it does not start."""
        text = str(error)
        for name, value in self.placeholders.items():
            text = text.replace(value, f"{{{name}}}")
        self.error = text


def load(path: Path) -> list[Verdict]:
    """Read the recorded verdicts."""
    return msgspec.json.decode(path.read_bytes(), type=list[Verdict])


def prepare(verdict: Verdict, folder: Path, ports: Ports) -> Trial:
    """Set it up without starting, as a process does that is not in a cluster and works in `folder`."""
    text = f"{verdict.corefile} {verdict.files} {{PORT}}"
    numbers = {name: str(ports.take()) for name in PORTS if f"{{{name}}}" in text}
    trial = Trial(verdict, {"DIR": str(folder), **numbers})
    for name, text in {**verdict.files, "Corefile": verdict.corefile}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text, trial.placeholders), encoding="utf-8", newline="")
    settings = Settings(Source(str(folder / "Corefile")), numbers["PORT"])
    supervisor = Supervisor(settings, Log(io.StringIO()), lambda code: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in _IN_CLUSTER:
            patch.delenv(name, raising=False)
        for name, value in verdict.env.items():
            patch.setenv(name, value)
        try:
            trial.instance = supervisor.prepare(*supervisor.read())
        except CorefileError as error:
            trial.fail(error)
    return trial


async def start(trial: Trial) -> None:
    """Start it and stop it again, unless it failed before."""
    if trial.instance is None:
        return
    try:
        await trial.instance.start()
    except (CorefileError, OSError) as error:
        trial.fail(error)
        return
    await trial.instance.activate()
    await trial.instance.stop()


async def judge(verdicts: list[Verdict], folder: Path) -> list[Trial]:
    """Ours on each of them, in order; `folder` is for their files."""
    ports = Ports()
    trials = []
    for verdict in verdicts:
        own = folder / verdict.id
        own.mkdir()
        trials.append(prepare(verdict, own, ports))
    await asyncio.gather(*map(start, trials))
    ports.give_back(int(text) for trial in trials for name, text in trial.placeholders.items() if name in PORTS)
    return trials
