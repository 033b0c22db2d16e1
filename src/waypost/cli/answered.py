"""The queries of `waypost query`: who is asked how, and what comes back as text and JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rrset

from waypost.cli.answers import CorefileServer, LiveServer, make_query, reply_of
from waypost.cli.paint import Line, rcode_style
from waypost.cli.world import printable
from waypost.corefile.addresses import join_host_port
from waypost.podside.replies import DROP, UNREACHABLE, Asked, Reply

_PORT: Final = 53
_SECTIONS: Final = ("answer", "authority", "additional")


@dataclass(frozen=True, slots=True)
class Answered:
    """A query, who was asked, and the response; without one `fault` says why. Time in milliseconds."""

    asked: Asked
    server: str
    milliseconds: float
    message: dns.message.Message | None = None
    fault: str = ""

    @property
    def rcode(self) -> str:
        """In text; the fault if there is no response."""
        return self.fault if self.message is None else dns.rcode.to_text(self.message.rcode())

    @property
    def flags(self) -> list[str]:
        """Header flags in lower case."""
        return [] if self.message is None else dns.flags.to_text(self.message.flags).lower().split()

    def section(self, name: str) -> list[str]:
        """The records of a section, a line each."""
        rrsets: Sequence[dns.rrset.RRset] = [] if self.message is None else getattr(self.message, name)
        return [line for rrset in rrsets for line in rrset.to_text().splitlines()]

    def as_json(self) -> dict[str, object]:
        """The query and its response."""
        asked = self.asked
        return {
            "name": asked.name,
            "type": asked.type,
            "transport": asked.transport,
            "server": self.server,
            "milliseconds": round(self.milliseconds, 3),
            "rcode": None if self.message is None else self.rcode,
            "error": self.fault or None,
            "flags": self.flags,
            **{name: self.section(name) for name in _SECTIONS},
        }


class Server(Protocol):
    """Somebody to ask."""

    def address(self, asked: Asked) -> str:
        """Where this query goes, for the reader."""
        ...

    def ask(self, asked: Asked) -> dns.message.Message | None:
        """The response, None for silence. Raises OSError, EOFError or DNSException."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """One server, or without an address whichever the resolver means to ask."""

    host: str = ""
    port: int = _PORT

    def address(self, asked: Asked) -> str:
        return join_host_port(self.host or asked.server, self.port)

    def ask(self, asked: Asked) -> dns.message.Message | None:
        return LiveServer(self.host or asked.server, self.port).ask(make_query(asked), stream=asked.transport == "tcp")


@dataclass(frozen=True, slots=True)
class InProcess:
    """A Corefile in this process."""

    server: CorefileServer

    def address(self, asked: Asked) -> str:
        return "in this process"

    def ask(self, asked: Asked) -> dns.message.Message | None:
        wire = self.server.ask(make_query(asked).to_wire(), stream=asked.transport == "tcp")
        return None if wire is None else dns.message.from_wire(wire)


@dataclass(slots=True)
class Asker:
    """An answer to the queries of a cascade that remembers them in order."""

    server: Server
    answered: list[Answered] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Reply:
        started = time.perf_counter()
        message, fault, reply = None, "no response", Reply(DROP)
        try:
            message = self.server.ask(asked)
            if message is not None:
                fault, reply = "", reply_of(message)
        except (dns.exception.Timeout, TimeoutError):
            pass
        except (OSError, EOFError) as exc:
            fault, reply = getattr(exc, "strerror", None) or str(exc) or type(exc).__name__, Reply(UNREACHABLE)
        except dns.exception.DNSException as exc:
            fault = f"not a response: {exc}"
        milliseconds = (time.perf_counter() - started) * 1000
        self.answered.append(Answered(asked, self.server.address(asked), milliseconds, message, fault))
        return reply


def chosen(answered: Sequence[Answered], name: str) -> Answered | None:
    """The last response for the name that decided, or the last query of all."""
    found = [each for each in answered if each.asked.name == name and each.message is not None]
    candidates = found or answered
    return candidates[-1] if candidates else None


def as_json(shown: Answered | None, answered: Sequence[Answered]) -> dict[str, object]:
    """The response and every query."""
    return {
        "response": None if shown is None else shown.as_json(),
        "queries": [
            {"name": each.asked.name, "type": each.asked.type, "transport": each.asked.transport, "rcode": each.rcode}
            for each in answered
        ],
    }


def short_lines(shown: Answered | None) -> Iterator[Line]:
    """The data of the answer's records."""
    if shown is not None and shown.message is not None:
        for rrset in shown.message.answer:
            for rdata in rrset:
                yield [(printable(rdata.to_text()), "")]


def lines(name: str, shown: Answered | None, answered: Sequence[Answered]) -> Iterator[Line]:
    """Header, sections, and who was asked for what."""
    if shown is None:
        text = "a resolver knows it by itself, or it is no name that can be asked for"
        yield [(printable(f";; nothing was asked for {name}: {text}"), "")]
        return
    if shown.message is not None:
        yield [(";; ", "dim"), (shown.rcode, rcode_style(shown.rcode)), (f", flags {' '.join(shown.flags)}", "")]
        yield [(";; QUESTION", "dim")]
        yield [(printable(f";{shown.asked.name} {shown.asked.type}"), "")]
    for section in _SECTIONS:
        if records := shown.section(section):
            yield []
            yield [(f";; {section.upper()}", "dim")]
            yield from ([(printable(record), "bold" if section == "answer" else "")] for record in records)
    if shown.message is not None:
        yield []
    for number, each in enumerate(answered, 1):
        asked = each.asked
        yield [
            (printable(f";; {number}  {asked.name} {asked.type}  "), "dim"),
            (each.rcode, rcode_style(each.rcode)),
            (printable(f"  {each.server} over {asked.transport}, {each.milliseconds:.1f} ms"), "dim"),
        ]
