"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import NamedTuple


class Machine(NamedTuple):
    """`load` is how many processes wanted a processor, on average over the minute before anything was measured."""

    cpu: str
    cores: int
    kernel: str
    python: str
    load: float

    def __str__(self) -> str:
        return f"{self.cpu}, {self.cores} cores, {self.kernel}, {self.python}, load {self.load:.1f} at the start"


def this_machine() -> Machine:
    """The one that this runs on."""
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    cores = len(os.sched_getaffinity(0))
    return Machine(cpu_model(info), cores, f"{platform.system()} {platform.release()}", python, os.getloadavg()[0])


def cpu_model(info: str) -> str:
    """The processor's name in the text of /proc/cpuinfo; where that has none, the architecture's."""
    match = re.search(r"^model name\s*:\s*(.+)$", info, re.M)
    return match[1].strip() if match else platform.machine()
