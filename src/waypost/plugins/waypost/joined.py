"""What the admin endpoint answers for several processes, each of which has caches of its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, cast
from urllib.parse import parse_qsl

from waypost.httpd.join import Joint, bodies
from waypost.httpd.message import HttpRequest, HttpResponse
from waypost.plugins.waypost.arguments import limit

TOTAL = "X-Total-Count"
_SECONDS = 15.0


def as_json(value: object, *headers: tuple[str, str]) -> HttpResponse:
    """A response of JSON."""
    return HttpResponse(200, "application/json", json.dumps(value).encode() + b"\n", headers)


def _listings(request: HttpRequest, responses: Sequence[HttpResponse]) -> HttpResponse:
    """The entries of all caches in order, what several processes keep several times; as many as were asked for."""
    failed = _failed(responses)
    if failed is not None:
        return failed
    rows = [row for found in bodies(responses) for row in cast(list[dict[str, Any]], found)]
    rows.sort(key=itemgetter("name", "type"))
    total = sum(int(dict(response.headers)[TOTAL]) for response in responses)
    return as_json(rows[: limit(dict(parse_qsl(request.query)))], (TOTAL, str(total)))


def _flushes(request: HttpRequest, responses: Sequence[HttpResponse]) -> HttpResponse:
    """How many entries were dropped in all of them."""
    failed = _failed(responses)
    if failed is not None:
        return failed
    return as_json({"flushed": sum(cast(dict[str, int], body)["flushed"] for body in bodies(responses))})


def _failed(responses: Sequence[HttpResponse]) -> HttpResponse | None:
    """The first response that is not what was asked for: a part of the truth must not pass for the whole."""
    return next((response for response in responses if response.status != 200), None)


LISTINGS = Joint(_listings, _SECONDS)
FLUSHES = Joint(_flushes, _SECONDS)
