"""What becomes of exceptions that nobody caught."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from waypost.control.files import Source
from waypost.control.run import unhandled
from waypost.control.supervisor import Settings, Supervisor
from waypost.log import Log


class Bench:
    """A supervisor of one block with these lines, started; `codes` are the exit codes asked for."""

    def __init__(self, folder: Path, lines: str) -> None:
        self.stream = io.StringIO()
        self.codes: list[int] = []
        path = folder / "Corefile"
        path.write_text(f".:0 {{\n    bind 127.0.0.1\n    whoami\n{lines}}}\n")
        self.supervisor = Supervisor(Settings(Source(str(path))), Log(self.stream), self.codes.append)

    def throw(self, exc: Exception) -> str:
        """What is logged of it."""
        start = len(self.stream.getvalue())
        unhandled(self.supervisor, {"message": "In a callback", "exception": exc}, self.codes.append)
        return self.stream.getvalue()[start:]


@pytest.mark.parametrize(("lines", "codes"), [("", []), ("    debug\n", [2])], ids=["plain", "debug"])
async def test_a_fault_ends_the_process_only_with_debug(tmp_path: Path, lines: str, codes: list[int]) -> None:
    bench = Bench(tmp_path, lines)
    await bench.supervisor.start()
    text = bench.throw(ValueError("a fault"))
    assert text.startswith("[ERROR] ")
    assert "ValueError: a fault" in text
    assert bench.codes == codes
    await bench.supervisor.stop(graceful=True)


async def test_lack_of_descriptors_is_no_fault(tmp_path: Path) -> None:
    bench = Bench(tmp_path, "    debug\n")
    await bench.supervisor.start()
    assert bench.throw(OSError(24, "Too many open files")) == (
        "[ERROR] In a callback: [Errno 24] Too many open files\n"
    )
    assert bench.throw(OSError(24, "Too many open files")) == ""  # said once in a while
    assert bench.codes == []
    await bench.supervisor.stop(graceful=True)
