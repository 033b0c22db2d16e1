"""Runs of suites shared out among threads and test processes, each done once. Most of their time is sleep."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from support.suite_runner.run import Result

Run = Callable[[], Result]

_POLL = 0.02


class Board:
    """A folder that several processes look at: which runs are taken, and how those that are done went."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def claim(self, key: str) -> bool:
        """True for the first who asks."""
        try:
            self._path(key, "claimed").open("x").close()
        except FileExistsError:
            return False
        return True

    def post(self, key: str, result: Result) -> None:
        """Show a result."""
        draft = self._path(key, "draft")
        draft.write_bytes(msgspec.json.encode(result))
        draft.replace(self._path(key, "json"))

    def wait(self, key: str) -> Result:
        """The result of a run that is taken."""
        path = self._path(key, "json")
        while not path.exists():
            time.sleep(_POLL)
        return msgspec.json.decode(path.read_bytes(), type=Result)

    def _path(self, key: str, extension: str) -> Path:
        return self._folder / f"{key.replace('/', '.')}.{extension}"


class Crew:
    """Threads that work through the runs in order while tests wait for results. Use as a context manager."""

    def __init__(self, board: Board, runs: Mapping[str, Run], threads: int) -> None:
        self._board = board
        self._runs = runs
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]

    def __enter__(self) -> Crew:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def result(self, key: str) -> Result:
        """How the run went, or goes: nobody's run is done at once, here."""
        self._take(key)
        return self._board.wait(key)

    def _work(self) -> None:
        for key in self._runs:
            if self._stopped.is_set():
                return
            self._take(key)

    def _take(self, key: str) -> None:
        if not self._board.claim(key):
            return
        try:
            result = self._runs[key]()
        except Exception:
            result = Result(key, error=traceback.format_exc())
        self._board.post(key, result)
