"""What the process spends its time on: every call counted by cProfile, or py-spy's view from outside."""

from __future__ import annotations

import asyncio
import cProfile
import io
import marshal
import os
import pstats
import shutil
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path
from typing import Final

_LINES: Final = 60
# py-spy has to read the process's symbols before, and to write its result after, the seconds asked for.
_PY_SPY_SPARE: Final = 8.0


class Unavailable(Exception):
    """It cannot be had here; the text says why."""


async def count_calls(seconds: float) -> cProfile.Profile:
    """Every call on the loop's thread; what is measured runs slower meanwhile. Raises Unavailable."""
    profile = cProfile.Profile()
    try:
        profile.enable()
    except ValueError as exc:  # since Python 3.12 there is room for one profiler
        raise Unavailable(str(exc)) from exc
    try:
        await asyncio.sleep(seconds)
    finally:
        profile.disable()
    return profile


def as_pstats(profile: cProfile.Profile) -> bytes:
    """The file that `python -m pstats` and its kin read."""
    profile.create_stats()
    return marshal.dumps(profile.stats)


def as_text(profile: cProfile.Profile) -> bytes:
    """The calls that took longest, with what they called."""
    out = io.StringIO()
    pstats.Stats(profile, stream=out).sort_stats("cumulative").print_stats(_LINES)
    return out.getvalue().encode()


async def py_spy(seconds: int, form: str) -> bytes:
    """What `py-spy record` writes in one of its formats, the process not being held up. Raises Unavailable."""
    program = shutil.which("py-spy")
    if program is None:
        raise Unavailable("this needs py-spy: install it (pip install py-spy) where the server finds it in PATH")
    with tempfile.TemporaryDirectory(prefix="waypost-") as folder:
        path = Path(folder, "profile")
        words = ("record", "--nonblocking", "--pid", str(os.getpid()), "--duration", str(seconds))
        process = await asyncio.create_subprocess_exec(
            program, *words, "--format", form, "--output", str(path), stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
        )
        try:
            _, errors = await asyncio.wait_for(process.communicate(), seconds + _PY_SPY_SPARE)
        except TimeoutError:
            raise Unavailable("py-spy did not end in time") from None
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode:
            raise Unavailable(f"py-spy failed: {errors.decode(errors='replace').strip()}")
        try:
            return await asyncio.to_thread(path.read_bytes)
        except FileNotFoundError:
            raise Unavailable("py-spy wrote nothing") from None
