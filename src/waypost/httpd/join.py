"""How several processes answer a request together."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple

from waypost.httpd.message import HttpRequest, HttpResponse


class Joint(NamedTuple):
    """`join` makes one response of those of all processes, in their order; at least one.

    503 stands for a process that says nothing within `seconds`. With `first` only the first that runs is asked: all
    are alike, and the answer takes effort.
    """

    join: Callable[[HttpRequest, Sequence[HttpResponse]], HttpResponse]
    seconds: float = 3.0
    first: bool = False


AskAll = Callable[[str, HttpRequest, Joint], Awaitable[Sequence[HttpResponse]]]
"""Asks the processes what their server of this address answers."""


def _worst(request: HttpRequest, responses: Sequence[HttpResponse]) -> HttpResponse:
    return max(responses, key=lambda response: response.status)


def _only(request: HttpRequest, responses: Sequence[HttpResponse]) -> HttpResponse:
    return responses[0]


ALL_WELL: Final = Joint(_worst)
"""The response with the highest status, the first of equals."""
FIRST: Final = Joint(_only, seconds=400.0, first=True)
"""Whatever the first process says."""


def bodies(responses: Sequence[HttpResponse]) -> list[object]:
    """The JSON of each response."""
    return [json.loads(response.body) for response in responses]
