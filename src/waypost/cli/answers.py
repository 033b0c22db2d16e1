"""What answers the queries of a cascade: a live server, or a Corefile in this process without any listener."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype

from waypost.control.build import OBSERVERS, Endpoint
from waypost.control.files import Source
from waypost.control.instance import Instance, run_hooks
from waypost.control.supervisor import Settings, Supervisor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile
from waypost.dispatch.serve import Server
from waypost.log import Log
from waypost.podside.replies import DROP, UNREACHABLE, Asked, Record, Reply

_SECONDS: Final = 5.0
_CLIENT: Final = ("127.0.0.1", 53535)

T = TypeVar("T")


class LiveServer:
    """Asks one server, whichever the resolver means to ask."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port

    def __call__(self, asked: Asked) -> Reply:
        try:
            response = self._ask(_query(asked), asked.transport == "tcp")
        except (dns.exception.Timeout, TimeoutError):
            return Reply(DROP)
        except (OSError, EOFError):
            return Reply(UNREACHABLE)
        except dns.exception.DNSException:  # not a response
            return Reply(DROP)
        return _reply(response)

    def _ask(self, query: dns.message.QueryMessage, stream: bool) -> dns.message.Message:
        if stream:
            return dns.query.tcp(query, self._host, _SECONDS, self._port)
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.connect((self._host, self._port))  # only a connected socket hears that nobody listens
            return dns.query.udp(query, self._host, _SECONDS, self._port, ignore_unexpected=True, sock=sock)


class CorefileServer:
    """The chain of a Corefile, its cluster loaded from manifests, asked as a client on loopback. Close it after use."""

    def __init__(self, path: str, manifests: tuple[str, ...]) -> None:
        """Raises CorefileError or OSError."""
        self._runner = asyncio.Runner()
        self._instance: Instance | None = None
        try:
            self._instance, self._server = self._run(_start(path, manifests))
        except BaseException:
            self._runner.close()
            raise

    def __call__(self, asked: Asked) -> Reply:
        try:
            wire = _query(asked).to_wire()
            answer = self._run(_ask(self._server, wire, asked.transport == "udp"))
            return Reply(DROP) if answer is None else _reply(dns.message.from_wire(answer))
        except (TimeoutError, dns.exception.DNSException):
            return Reply(DROP)

    def close(self) -> None:
        """Stop what was started."""
        try:
            if self._instance is not None:
                self._run(self._instance.stop())
        finally:
            self._runner.close()

    def _run(self, waiting: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(waiting)


async def _start(path: str, manifests: tuple[str, ...]) -> tuple[Instance, Server]:
    supervisor = Supervisor(Settings(Source.named(path), manifests=manifests), Log(sys.stderr), lambda code: None)
    corefile, digest = supervisor.read()
    for warning in corefile.warnings:
        supervisor.log.warning(warning)
    instance = supervisor.prepare(_quiet(corefile), digest)
    try:
        await run_hooks(instance.hooks.start)
        return instance, _plain_server(instance)
    except BaseException:
        await instance.stop()
        raise


def _quiet(corefile: Corefile) -> Corefile:
    """The same without directives that listen or write."""
    blocks = tuple(
        replace(block, directives=tuple(each for each in block.directives if each.name not in OBSERVERS))
        for block in corefile.blocks
    )
    return replace(corefile, blocks=blocks)


def _plain_server(instance: Instance) -> Server:
    """The one that pods ask: plain DNS, port 53 if there is one."""

    def rank(endpoint: Endpoint) -> tuple[bool, bool]:
        return endpoint.port != "53", bool(endpoint.host)

    plain = sorted((each for each in instance.plan.servers if each.scheme == "dns"), key=rank)
    if not plain:
        raise CorefileError.unlocated("no server block serves plain DNS")
    return instance.plan.servers[plain[0]]


async def _ask(server: Server, wire: bytes, datagram: bool) -> bytes | None:
    answer = server.serve(wire, _CLIENT, datagram)
    messages = await asyncio.wait_for(answer, _SECONDS) if isinstance(answer, Awaitable) else answer
    return messages[0] if isinstance(messages, tuple) else messages


def _query(asked: Asked) -> dns.message.QueryMessage:
    labels = asked.name.removesuffix(".").encode("utf-8", "surrogateescape").split(b".")
    name = dns.name.Name([label for label in labels if label] + [b""])
    query = dns.message.make_query(name, asked.type)
    if asked.edns:
        query.use_edns(0, payload=1232)
    return query


def _reply(response: dns.message.Message) -> Reply:
    records = tuple(
        Record(dns.rdatatype.to_text(rrset.rdtype), rdata.to_text(), str(rrset.name))
        for rrset in response.answer
        for rdata in rrset
    )
    flags = response.flags
    return Reply(
        dns.rcode.to_text(response.rcode()),
        records,
        bool(flags & dns.flags.TC),
        bool(flags & dns.flags.AA),
        bool(flags & dns.flags.RA),
        response.edns < 0,
    )
