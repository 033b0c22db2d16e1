"""What answers the queries of a cascade: a live server, or a Corefile in this process without any listener."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from io import StringIO
from typing import Any, Final, TypeVar

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype

from waypost.control.build import OBSERVERS
from waypost.control.files import Source
from waypost.control.instance import Instance, run_hooks
from waypost.control.supervisor import Settings, Supervisor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Corefile
from waypost.dispatch.explain import Explained, client_address, explain, plain_server
from waypost.dispatch.request import Address
from waypost.dispatch.serve import Server
from waypost.log import Log
from waypost.podside.replies import DROP, UNREACHABLE, Asked, Record, Reply

_SECONDS: Final = 5.0

T = TypeVar("T")


class LiveServer:
    """Asks one server, whichever the resolver means to ask."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port

    def __call__(self, asked: Asked) -> Reply:
        try:
            response = self.ask(make_query(asked), stream=asked.transport == "tcp")
        except (dns.exception.Timeout, TimeoutError):
            return Reply(DROP)
        except (OSError, EOFError):
            return Reply(UNREACHABLE)
        except dns.exception.DNSException:  # not a response
            return Reply(DROP)
        return reply_of(response)

    def ask(self, query: dns.message.QueryMessage, *, stream: bool) -> dns.message.Message:
        """The response, whatever it says. Raises OSError, EOFError or DNSException without one."""
        if stream:
            return dns.query.tcp(query, self._host, _SECONDS, self._port)
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.connect((self._host, self._port))  # only a connected socket hears that nobody listens
            return dns.query.udp(query, self._host, _SECONDS, self._port, ignore_unexpected=True, sock=sock)


class CorefileServer:
    """The chain of a Corefile in this process, asked as a client at an address. Close it after use."""

    def __init__(
        self,
        source: str | Source,
        manifests: tuple[str, ...] = (),
        kubeconfig: tuple[str, str] = ("", ""),
        client: str = "127.0.0.1",
    ) -> None:
        """`source` is a path, or a Corefile that need not be in a file.

        `manifests`, or `kubeconfig` with a context, are the cluster of blocks that name no other source.
        Raises CorefileError or OSError.
        """
        self._client = client_address(client)
        self._runner = asyncio.Runner()
        self._instance: Instance | None = None
        try:
            named = source if isinstance(source, Source) else Source.named(source)
            settings = Settings(named, manifests=manifests, kubeconfig=kubeconfig)
            self._instance, self._server = self._run(_start(settings))
        except BaseException:
            self._runner.close()
            raise

    def __call__(self, asked: Asked) -> Reply:
        wire = self.ask(make_query(asked).to_wire(), stream=asked.transport == "tcp")
        return Reply(DROP) if wire is None else read_reply(wire)

    def ask(self, wire: bytes, *, stream: bool) -> bytes | None:
        """The answer to a packet, None for silence."""
        try:
            return self._run(_ask(self._server, wire, self._client, not stream))
        except TimeoutError:
            return None

    def explain(self, wire: bytes, *, stream: bool, offline: bool) -> Explained:
        """How a packet is answered; `offline`: without asking upstreams."""
        return self._run(explain(self._server, wire, self._client, datagram=not stream, offline=offline))

    def close(self) -> None:
        """Stop what was started."""
        try:
            if self._instance is not None:
                self._run(self._instance.stop())
        finally:
            self._runner.close()

    def _run(self, waiting: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(waiting)


class _Troubles(StringIO):
    """Standard error for the log of a configuration that only answers questions: nothing that goes as planned."""

    def write(self, text: str) -> int:
        return len(text) if text.startswith("[INFO]") else sys.stderr.write(text)


async def _start(settings: Settings) -> tuple[Instance, Server]:
    supervisor = Supervisor(settings, Log(_Troubles()), lambda code: None)
    corefile, digest = supervisor.read()
    for warning in corefile.warnings:
        supervisor.log.warning(warning)
    instance = supervisor.prepare(_quiet(corefile), digest)
    try:
        await run_hooks(instance.hooks.start)
        server = plain_server(instance.plan.servers.values())
        if server is None:
            raise CorefileError.unlocated("no server block serves plain DNS")
        return instance, server
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


async def _ask(server: Server, wire: bytes, client: Address, datagram: bool) -> bytes | None:
    answer = server.serve(wire, client, datagram)
    messages = await asyncio.wait_for(answer, _SECONDS) if isinstance(answer, Awaitable) else answer
    return messages[0] if isinstance(messages, tuple) else messages


def make_query(asked: Asked) -> dns.message.QueryMessage:
    """The message that a resolver sends; the name's bytes as they are, whether text or not."""
    labels = asked.name.removesuffix(".").encode("utf-8", "surrogateescape").split(b".")
    name = dns.name.Name([label for label in labels if label] + [b""])
    query = dns.message.make_query(name, asked.type)
    if asked.edns:
        query.use_edns(0, payload=1232)
    return query


def read_reply(wire: bytes) -> Reply:
    """The reply in a message; none if it is not one."""
    try:
        return reply_of(dns.message.from_wire(wire))
    except dns.exception.DNSException:
        return Reply(DROP)


def reply_of(response: dns.message.Message) -> Reply:
    """A response as the resolvers of `podside` see it."""
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
