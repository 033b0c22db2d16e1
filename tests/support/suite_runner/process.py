"""A server process under test: started, waited for, read, stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import dns.message
import dns.opcode

_GRACE_SECONDS = 3.0


class ServerFailed(Exception):
    """The server ended, or does not answer; the text has the end of its output."""


class ServerProcess:
    """The process, whose whole output goes to a file. Use as a context manager: it is stopped at the end."""

    def __init__(self, command: Sequence[str], folder: Path, env: Mapping[str, str]) -> None:
        self._output = folder / ".server.log"
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **env},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> ServerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        if self.wait(_GRACE_SECONDS) is None:
            self._process.kill()
            self._process.wait()

    def output(self) -> str:
        """Everything it has written by now."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def signal(self, name: str) -> None:
        """Send a signal, as TERM."""
        self._process.send_signal(getattr(signal, f"SIG{name}"))

    def wait(self, seconds: float) -> int | None:
        """The exit code once it has ended, None if it has not by then."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def wait_until_up(self, port: int, seconds: float) -> None:
        """Until it replies to a query of opcode STATUS, which no plugin sees. Raises ServerFailed."""
        probe = dns.message.make_query("probe.invalid.", "A")
        probe.set_opcode(dns.opcode.STATUS)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise ServerFailed(f"exit code {self._process.returncode}: {self.output()[-600:].strip()}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                udp.settimeout(0.1)
                udp.connect(("127.0.0.1", port))
                try:
                    udp.send(probe.to_wire())
                    udp.recv(4096)
                    return
                except TimeoutError:
                    continue
                except OSError:
                    time.sleep(0.02)
        raise ServerFailed(f"no answer within {seconds} s: {self.output()[-600:].strip()}")
