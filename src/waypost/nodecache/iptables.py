"""The rules of NodeLocal DNSCache through `iptables-save` and `iptables-restore`.

These rules know no owner and no lifetime: instances share them, and the last that claims them takes them away.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import Sequence
from typing import Final

from waypost.nodecache.claims import RULES, Claims
from waypost.nodecache.failure import SetupError
from waypost.nodecache.rules import Rule, wait_arguments
from waypost.nodecache.saved import additions, read_saved, removals

_PROGRAMS: Final = {4: "iptables", 6: "ip6tables"}
_VERSION: Final = re.compile(r"v(\d+(?:\.\d+)*)")
_RESTORE_CAN_WAIT: Final = (1, 6, 2)
_LOCKED: Final = "xtables lock"
_SECONDS: Final = 15.0


def has_iptables() -> bool:
    """Whether the programs are there."""
    return shutil.which("iptables-restore") is not None


class IptablesRedirect:
    """`sync_interval` is after how many seconds rules that stand are looked at again."""

    lapses: Final = False

    def __init__(self, rules: Sequence[Rule], version: int, claims: Claims, sync_interval: float) -> None:
        self._rules = rules
        self._program = _PROGRAMS[version]
        self._claims = claims
        self._sync_interval = sync_interval
        self._wait: list[str] | None = None
        self._due = 0.0
        self._stands = False

    async def put(self) -> None:
        """Add what is missing. Raises SetupError."""
        now = time.monotonic()
        if self._stands and now < self._due:
            return
        self._claims.take(RULES)
        self._stands = True  # a part may stand even if this fails
        await self._restore(additions(self._rules, read_saved(await self._saved())))
        self._due = now + self._sync_interval

    async def withdraw(self) -> None:
        """Remove every copy, unless another instance claims them. Raises SetupError."""
        if self._stands:
            self._claims.drop(RULES)
            await self.sweep()
            self._stands = False
            self._due = 0.0

    async def sweep(self) -> None:
        """The same for rules of an instance that is no more. Raises SetupError."""
        if not self._claims.others(RULES):
            await self._restore(removals(self._rules, read_saved(await self._saved())))

    async def close(self) -> None:
        """Give up the claim, not the rules."""
        self._claims.drop(RULES)

    async def _saved(self) -> str:
        return await self._run(f"{self._program}-save")

    async def _restore(self, text: str) -> None:
        if not text:
            return
        if self._wait is None:
            self._wait = await self._wait_arguments()
        await self._run(f"{self._program}-restore", "--noflush", *self._wait, text=text)

    async def _wait_arguments(self) -> list[str]:
        match = _VERSION.search(await self._run(self._program, "--version"))
        version = tuple(map(int, match[1].split("."))) if match else _RESTORE_CAN_WAIT
        return wait_arguments(version) if version >= _RESTORE_CAN_WAIT else []

    async def _run(self, *words: str, text: str = "") -> str:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as exc:
            raise SetupError("iptables", f"{words[0]}: {exc.strerror or exc}") from exc
        try:
            async with asyncio.timeout(_SECONDS):
                output, errors = await process.communicate(text.encode())
        except TimeoutError:
            process.kill()
            await process.wait()
            raise SetupError("iptables_lock", f"{words[0]}: took longer than {_SECONDS:g} seconds") from None
        if process.returncode:
            said = " ".join(errors.decode(errors="replace").split())
            kind = "iptables_lock" if _LOCKED in said else "iptables"
            raise SetupError(kind, f"{words[0]}: exit code {process.returncode}: {said}")
        return output.decode(errors="replace")
