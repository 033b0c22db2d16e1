"""What answers the queries of a look-up and tells how: a Corefile in this process, or a running server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from waypost.cli.admin import AdminError, ask
from waypost.cli.answers import CorefileServer, make_query, reply_of
from waypost.explanation.told import BadExplanation, Told
from waypost.podside.replies import DROP, Asked, Reply

Source: TypeAlias = Callable[[Asked], Any]
"""Gives the explanation of one query as `dispatch.explain` has it for JSON."""


@dataclass(slots=True)
class Explainer:
    """An answer to the queries of a cascade that remembers what it was told, in order. `title` says who answers."""

    title: str
    source: Source
    told: list[Told] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Reply:
        """Raises AdminError."""
        try:
            told = Told.read(asked.name, asked.type, asked.transport, self.source(asked))
        except BadExplanation as exc:
            raise AdminError(f"{self.title}: {exc}") from exc
        self.told.append(told)
        if told.unasked:  # the resolver goes on with the names that can be answered
            return Reply("NXDOMAIN")
        return Reply(DROP) if told.message is None else reply_of(told.message)


def local(server: CorefileServer, *, offline: bool) -> Source:
    """A Corefile in this process."""

    def explained(asked: Asked) -> Any:
        wire = make_query(asked).to_wire()
        return server.explain(wire, stream=asked.transport == "tcp", offline=offline).as_json()

    return explained


def remote(address: str, client: str, *, offline: bool) -> Source:
    """The admin endpoint of a running server."""
    always = {"client": client, **({"offline": "true"} if offline else {})}

    def explained(asked: Asked) -> Any:
        # Presentation form: bytes that are no text are escaped.
        name = make_query(asked).question[0].name.to_text()
        return ask("POST", address, "/explain", name=name, type=asked.type, transport=asked.transport, **always).value

    return explained
