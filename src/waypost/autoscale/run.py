"""The process: follow the nodes, poll, lead or wait, answer probes, and end on a signal."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any

from waypost import __version__
from waypost.autoscale.api import Api
from waypost.autoscale.controller import Controller
from waypost.autoscale.leader import LeaderElection
from waypost.autoscale.metrics import Metrics
from waypost.autoscale.nodes import NodeCount, nodes
from waypost.autoscale.settings import Settings
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer
from waypost.kube.client import ApiClient
from waypost.kube.config import ClusterAccess
from waypost.kube.reflector import Reflector
from waypost.log import Log
from waypost.metrics.expose import CONTENT_TYPE, Exposition
from waypost.metrics.registry import Registry


async def run(settings: Settings, access: ClusterAccess, address: str, log: Log) -> int:
    """Run until a signal or too many failures end it; gives the exit code.

    `address` (HOST:PORT) is for probes and metrics; empty for none. Raises ListenError.
    """
    ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def end(code: int) -> None:
        if not ended.done():
            ended.set_result(code)

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end, 0)
    client = ApiClient(access, user_agent=f"Waypost/{__version__}")
    try:
        return await _run(settings, client, address, log, ended, end)
    finally:
        await client.close()


async def _run(
    settings: Settings,
    client: ApiClient,
    address: str,
    log: Log,
    ended: asyncio.Future[int],
    end: Callable[[int], None],
) -> int:
    registry = Registry()
    metrics = Metrics(registry)
    count = NodeCount()
    reflector = Reflector(nodes(settings.node_labels), client, count, log=log, changes=lambda: count.changes)
    api = Api(client, settings.namespace)
    controller = Controller(settings, api, lambda: count.size, log, metrics, clock=time.monotonic, wall=time.time)
    election = None
    if settings.leader_elect and not settings.dry_run:
        election = LeaderElection(api, settings.configmap, settings.identity, log, clock=time.monotonic, wall=time.time)
    server = HttpServer(address, log) if address else None
    if server is not None:
        _route(server, controller, registry)
        await server.start()
    work: list[Coroutine[Any, Any, Any]] = [
        reflector.run(),
        _poll(settings, reflector, controller, election, metrics, end),
        *([] if election is None else [election.run()]),
    ]
    tasks = [asyncio.get_running_loop().create_task(each) for each in work]
    for task in tasks:
        task.add_done_callback(lambda task: _unexpected(task, log, end))
    try:
        return await ended
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if server is not None:
            await server.close()


async def _poll(
    settings: Settings,
    reflector: Reflector[Any],
    controller: Controller,
    election: LeaderElection | None,
    metrics: Metrics,
    end: Callable[[int], None],
) -> None:
    """Poll for ever, beginning when the nodes are known; skip while another process leads."""
    await reflector.wait_synced()
    loop = asyncio.get_running_loop()
    due = loop.time()
    while True:
        leads = election is None or election.leads
        metrics.leading(leads)
        if not leads:
            metrics.polled("waiting")
            await asyncio.sleep(min(1.0, settings.poll_period))
            due = loop.time()
            continue
        outcome = await controller.poll()
        if settings.max_sync_failures and outcome.failures == settings.max_sync_failures:
            end(1)
        due = max(due + settings.poll_period, loop.time())
        await asyncio.sleep(due - loop.time())


def _unexpected(task: asyncio.Task[Any], log: Log, end: Callable[[int], None]) -> None:
    """A task that ends by itself is our fault: better start anew than go on by half."""
    if not task.cancelled() and (exc := task.exception()) is not None:
        log.fatal(f"{type(exc).__name__}: {exc}")
        end(2)


def _route(server: HttpServer, controller: Controller, registry: Registry) -> None:
    exposition = Exposition(registry)

    def last_poll(request: HttpRequest) -> HttpResponse:
        problem = controller.last.problem
        return plain(500, problem) if problem else plain(200, "OK")

    server.set_route("/healthz", lambda request: plain(200, "OK"))
    server.set_route("/last-poll", last_poll)
    server.set_route("/metrics", lambda request: HttpResponse(200, CONTENT_TYPE, exposition.text()))
