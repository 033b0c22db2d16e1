"""One plugin in a block of its own, asked by packets and judged by dnspython."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dns.flags
import dns.message
import dns.rcode

from support.chain import FakeNext, FakeProcess, make_directive, make_request, make_site
from waypost.corefile.model import Directive
from waypost.dispatch.handler import settled
from waypost.dispatch.site import Site
from waypost.wire import consts
from waypost.wire.fit import pack
from waypost.wire.reply import Reply, copied_flags, failure

Setup = Callable[[Directive, Site], None]


@dataclass
class Block:
    """A block that holds one directive, and behind it a next plugin that fails unless it is given a reply."""

    site: Site
    following: FakeNext
    process: FakeProcess

    async def reply(self, name: str, qtype: str = "A", **how: Any) -> Reply:
        """What the plugin gives; `how` as for `make_request`."""
        assert self.site.chain is not None
        return await settled(self.site.chain.serve(make_request(name, qtype, site=self.site, **how)))

    async def ask(self, name: str, qtype: str = "A", **how: Any) -> dns.message.Message:
        """What the client reads; the server's own reply where no plugin wrote one."""
        assert self.site.chain is not None
        request = make_request(name, qtype, site=self.site, **how)
        reply = await settled(self.site.chain.serve(request))
        if not reply.written:
            reply = Reply(reply.rcode, copied_flags(request.query))
        wire = pack(request.query, reply, datagram=request.datagram)
        return dns.message.from_wire(wire)


def block(
    setup: Setup, text: str, *labels: str, reply: Reply | None = None, process: FakeProcess | None = None
) -> Block:
    """Set up `text`, a directive's lines, in a block with these labels (default `.:53`)."""
    process = process or FakeProcess()
    site = make_site(*labels, process=process)
    setup(make_directive(text), site)
    following = FakeNext(reply or failure(consts.SERVFAIL, "next"), later=reply is not None)
    site.add(following)
    site.link()
    return Block(site, following, process)


def texts(section: list[dns.rrset.RRset]) -> list[str]:
    """The records of a section as text, sorted, class left out if it is IN."""
    return sorted(
        f"{rrset.name} {rrset.ttl} {dns.rdatatype.to_text(rrset.rdtype)} {rdata.to_text()}"
        if rrset.rdclass == 1
        else f"{rrset.name} {rrset.ttl} {dns.rdataclass.to_text(rrset.rdclass)} "
        f"{dns.rdatatype.to_text(rrset.rdtype)} {rdata.to_text()}"
        for rrset in section
        for rdata in rrset
    )


def summary(message: dns.message.Message) -> tuple[str, str, list[str], list[str], list[str]]:
    """rcode, flags, and the three sections."""
    return (
        dns.rcode.to_text(message.rcode()),
        dns.flags.to_text(message.flags),
        texts(message.answer),
        texts(message.authority),
        texts(message.additional),
    )
