"""Rules that stand on the node or not."""

from __future__ import annotations

from typing import Final, Protocol


class Redirect(Protocol):
    """The rules of one instance. Each method can be called at any time and again; all raise SetupError."""

    @property
    def lapses(self) -> bool:
        """Whether rules that are not put again soon are as good as withdrawn."""

    async def put(self) -> None:
        """Let them stand; a good round later, go on letting them stand."""

    async def withdraw(self) -> None:
        """Take them away, unless another instance needs the same ones."""

    async def sweep(self) -> None:
        """Take away what nobody claims any more."""

    async def close(self) -> None:
        """Give back what the process holds."""


class NoRules:
    """For nodes whose packets come to the server by other means."""

    lapses: Final = False

    async def put(self) -> None:
        """Nothing to do."""

    async def withdraw(self) -> None:
        """Nothing to do."""

    async def sweep(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Nothing to do."""
