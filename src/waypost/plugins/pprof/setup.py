"""pprof: show over HTTP what the process spends its time and memory on.

pprof [ADDRESS] {
    block [RATE]
}
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from waypost.corefile.addresses import split_host_port
from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.values import parse_int
from waypost.dispatch.site import Site, everywhere
from waypost.httpd.server import HttpServer, check_address, lend_server
from waypost.httpd.socket import ListenError
from waypost.plugins.pprof.endpoint import Endpoint

_DEFAULT_ADDRESS: Final = "localhost:6053"


@dataclass(frozen=True, slots=True)
class Config:
    """Where to listen; with a `block_rate` above 0, what holds the loop for so many nanoseconds can be asked for."""

    address: str = _DEFAULT_ADDRESS
    block_rate: int = 0


def parse(directive: Directive) -> Config:
    """Raises CorefileError."""
    cursor = Cursor(directive)
    cursor.next()
    args = cursor.remaining_args()
    if len(args) == 1:
        cursor.parsed(split_host_port, args[0])
    if len(args) > 1:
        raise cursor.arg_err()
    address = args[0] if args else _DEFAULT_ADDRESS
    rate = 0
    for option, values in cursor.options():
        if option != "block":
            raise cursor.err(f"unknown property '{option}'")
        if len(values) > 1:
            raise cursor.arg_err()
        rate = _rate(cursor, values[0]) if values else 1
    if cursor.next():
        raise CorefileError.unlocated("this plugin can only be used once per Server Block")
    cursor.parsed(check_address, address)
    return Config(address, rate)


def _rate(cursor: Cursor, text: str) -> int:
    try:
        return parse_int(text)
    except ValueError:
        raise cursor.err(f"property 'block' invalid integer value '{text}'") from None


def setup(directive: Directive, site: Site) -> None:
    """Listen at start; answer once live. Nothing is measured before somebody asks."""
    config = parse(directive)
    lender = site.services.lender
    server = lend_server(lender, config.address, site.services.log)
    # What measures the whole process does so once at a time, however many blocks offer it.
    endpoint = Endpoint(server, lender.lend("pprof", asyncio.Lock), config.block_rate)
    site.hooks.start.append(everywhere(lambda: _start(server)))
    site.hooks.active.append(everywhere(endpoint.activate))
    site.hooks.stop.append(everywhere(endpoint.stop))


async def _start(server: HttpServer) -> None:
    """Raises CorefileError if the address cannot be had."""
    try:
        await server.start()
    except ListenError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
