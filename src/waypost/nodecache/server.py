"""The server process: started with the same flags, and told by the end of its standard input that we are no more."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Sequence
from pathlib import Path


class ServerProcess:
    """One server that runs or ran. It writes its number to `pid_file` once it listens everywhere."""

    def __init__(self, process: asyncio.subprocess.Process, pid_file: Path) -> None:
        self._process = process
        self._pid_file = pid_file
        self.served = False
        self.ended: asyncio.Task[int] = asyncio.get_running_loop().create_task(process.wait())

    @classmethod
    async def start(cls, words: Sequence[str], pid_file: str) -> ServerProcess:
        """`words` are the flags of this command. Raises OSError."""
        path = _without_file(pid_file)
        command = (sys.executable, "-P", "-m", "waypost.cli.main", "node-cache", "server", *words)
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE)
        return cls(process, path)

    def serves(self) -> bool:
        """Whether it runs and listens."""
        if self.ended.done():
            return False
        if not self.served:
            with contextlib.suppress(OSError):
                self.served = self._pid_file.read_text(encoding="ascii", errors="replace").strip() == str(
                    self._process.pid
                )
        return self.served

    def tell(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if not self.ended.done():
            self._process.send_signal(number)


def _without_file(name: str) -> Path:
    """What an earlier server left there would be taken for this one's."""
    path = Path(name)
    path.unlink(missing_ok=True)
    return path
