"""How commands ask the admin endpoint of a running server, and say what went wrong."""

from __future__ import annotations

import argparse
import sys
from typing import Any, Final, NamedTuple

from waypost.corefile.addresses import join_host_port, parse_port, split_host_port

# The plugin's default, which is not imported from there: that costs more time than the whole command.
DEFAULT_ADDRESS: Final = "127.0.0.1:9253"
_SECONDS: Final = 10.0


class AdminError(Exception):
    """No answer, or a refusal; the text is a line for the user."""


class Answer(NamedTuple):
    """The decoded JSON of a response, and how many entries there are in all where it lists some."""

    value: Any
    total: int


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add --admin and -o."""
    parser.add_argument(
        "--admin", default=DEFAULT_ADDRESS, type=admin_address, metavar="ADDR",
        help=f"HOST:PORT that 'waypost {{ admin }}' of the Corefile names (default: {DEFAULT_ADDRESS})",
    )  # fmt: skip
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")


def ask(method: str, address: str, path: str, **parameters: str) -> Answer:
    """One request. Raises AdminError."""
    import json
    from http.client import HTTPConnection, HTTPException
    from urllib.parse import urlencode

    host, port = split_host_port(address)
    connection = HTTPConnection(host or "127.0.0.1", parse_port(port), timeout=_SECONDS)
    try:
        connection.request(method, f"{path}?{urlencode(parameters)}" if parameters else path)
        response = connection.getresponse()
        body = response.read()
        if response.headers.get("Server") != "waypost":
            raise AdminError(f"what answers at {address} is not the admin endpoint of a waypost")
        if response.status != 200:
            text = body.decode("utf-8", "replace").strip() or response.reason
            raise AdminError(f"{address}{path}: {text}")
        return Answer(json.loads(body), int(response.headers.get("X-Total-Count", "0")))
    except (OSError, HTTPException, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
        text = (
            f"no answer from the admin endpoint at {address}: {reason}. Does its Corefile have 'waypost {{ admin }}'?"
        )
        raise AdminError(text) from exc
    finally:
        connection.close()


def print_json(value: object) -> None:
    """JSON for programs."""
    import json

    print(json.dumps(value, indent=2))


def failed(error: AdminError) -> int:
    """Say it on standard error; gives the exit code."""
    print(f"waypost: {error}", file=sys.stderr)
    return 1


def admin_address(text: str) -> str:
    """HOST:PORT, the host 127.0.0.1 if it is left out. Raises ArgumentTypeError."""
    try:
        host, port = split_host_port(text)
        return join_host_port(host or "127.0.0.1", parse_port(port))
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"expected HOST:PORT: {exc}") from None
