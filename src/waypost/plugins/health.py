"""health: an endpoint that says the process is alive.

health [ADDRESS] {
    lameduck DURATION
}
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from waypost.corefile.addresses import parse_port, split_host_port
from waypost.corefile.args import Cursor, format_duration, parse_duration
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.dispatch.site import Site, everywhere, once
from waypost.httpd import probe
from waypost.httpd.join import ALL_WELL
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer, lend_server
from waypost.httpd.socket import ListenError
from waypost.log import Log
from waypost.metrics.registry import Registry

PATH: Final = "/health"
_DEFAULT_ADDRESS: Final = ":8080"
_CHECK_EVERY: Final = 1.0
_CHECK_TIMEOUT: Final = 3.0
_SLOW: Final = 1.0
_DURATION_BOUNDS: Final = (0.00025, 0.0025, 0.025, 0.25, 2.5)
_OK: Final = plain(200, "OK")


@dataclass(frozen=True, slots=True)
class Config:
    """Where to listen, and how many seconds to stay alive when the process is asked to end."""

    address: str = _DEFAULT_ADDRESS
    lameduck: float = 0.0


def parse(directive: Directive) -> Config:
    """The last of several occurrences counts. Raises CorefileError."""
    cursor = Cursor(directive)
    config = Config()
    for args in cursor.occurrences():
        if len(args) > 1:
            raise cursor.arg_err()
        address = args[0] if args else _DEFAULT_ADDRESS
        _check_address(address)
        lameduck = 0.0
        for option, values in cursor.options():
            if option != "lameduck":
                raise cursor.err(f"unknown property '{option}'")
            if len(values) != 1:
                raise cursor.arg_err()
            lameduck = _lameduck(values[0])
        config = Config(address, lameduck)
    return config


def _check_address(address: str) -> None:
    try:
        _, port = split_host_port(address)
    except ValueError as exc:
        raise CorefileError.unlocated(str(exc)) from exc
    try:
        parse_port(port)
    except ValueError as exc:
        text = f'parse "http://{address}": invalid port ":{port}" after host'
        raise CorefileError.unlocated(text) from exc


def _lameduck(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as exc:
        raise CorefileError.unlocated(f"unable to parse lameduck duration value: '{text}' : {exc}") from exc


def setup(directive: Directive, site: Site) -> None:
    """Listen at start, answer and check ourselves once live, and go into lameduck at the end of the process."""
    config = parse(directive)
    server = lend_server(site.services.lender, config.address, site.services.log)
    health = Health(config, server, site.log, site.metrics)
    site.hooks.start.append(everywhere(health.start))
    site.hooks.active += [everywhere(health.activate), once(health.watch)]
    site.hooks.final.append(health.lameduck)
    site.hooks.stop += [everywhere(health.deactivate), once(health.stop)]


class Health:
    """The endpoint of one block."""

    def __init__(self, config: Config, server: HttpServer, log: Log, metrics: Registry) -> None:
        self._config = config
        self._server = server
        self._log = log
        self._check = SelfCheck(config.address, log, metrics)
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Raises CorefileError if the address cannot be had: a pod without its probe would be restarted for ever."""
        try:
            await self._server.start()
        except ListenError as exc:
            raise CorefileError.unlocated(str(exc)) from exc

    def activate(self) -> None:
        """Answer from now on."""
        self._server.set_route(PATH, self.answer, ALL_WELL)

    def watch(self) -> None:
        """Check ourselves from now on, as somebody from outside would."""
        self._task = asyncio.get_running_loop().create_task(self._check.run(self._server), name="health")

    async def lameduck(self) -> None:
        """Wait, healthy and serving, until everybody has heard that we are going."""
        if self._config.lameduck > 0:
            self._log.info(f"Going into lameduck mode for {format_duration(self._config.lameduck)}")
            await asyncio.sleep(self._config.lameduck)

    def deactivate(self) -> None:
        """Stop answering."""
        self._server.remove_route(PATH, self.answer)

    async def stop(self) -> None:
        """Stop checking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def answer(self, request: HttpRequest) -> HttpResponse:
        """Whoever can say so is alive."""
        return _OK


class SelfCheck:
    """Asks the own endpoint every second: a slow or failed answer shows that the process is overloaded."""

    __slots__ = ("_address", "_duration", "_failures", "_get", "_host", "_log", "_now")

    def __init__(
        self,
        address: str,
        log: Log,
        metrics: Registry,
        *,
        get: Callable[[str, int, str, float], Awaitable[int]] = probe.get,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._address = address
        host, _ = split_host_port(address)
        self._host = host if host not in ("", "0.0.0.0", "::") else "localhost"
        self._log = log
        self._get = get
        self._now = now
        self._duration = metrics.histogram(
            "coredns_health_request_duration_seconds",
            "Histogram of the time (in seconds) each request took.",
            _DURATION_BOUNDS,
        ).labels()
        self._failures = metrics.counter(
            "coredns_health_request_failures_total", "The number of times the health check failed."
        ).labels()

    async def run(self, server: HttpServer) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            if server.port:
                await self.check(server.port)

    async def check(self, port: int) -> None:
        """One request."""
        url = f"http://{self._address}{PATH}"
        started = self._now()
        failure = None
        try:
            await self._get(self._host, port, PATH, _CHECK_TIMEOUT)
        except OSError as exc:
            failure = str(exc) or "timed out"
        seconds = self._now() - started
        self._duration.observe(seconds)
        if failure is not None:
            self._failures.inc()
            self._log.warning(f'Local health request to "{url}" failed: {failure}')
        elif seconds > _SLOW:
            self._log.warning(f'Local health request to "{url}" took more than 1s: {format_duration(seconds)}')
