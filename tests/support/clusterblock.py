"""The kubernetes plugin over an index made by hand, in a block with the transfer plugin before it if wanted."""

from __future__ import annotations

import dns.message
import dns.rcode

from support.chain import FakeNext, make_directive, make_request, make_site
from waypost.cluster.index import Index
from waypost.dispatch.handler import Handler, settled
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.plugins.transfer import setup as transfer_setup
from waypost.wire import addr, consts
from waypost.wire.fit import pack
from waypost.wire.reply import failure


def block_of(
    index: Index, *own: str, zones: str = "cluster.local in-addr.arpa ip6.arpa", options: str = "", transfer: str = ""
) -> Handler:
    """The first plugin of a block: `transfer` if it has options, then kubernetes, reached by the addresses `own`."""
    site = make_site(*zones.split())
    if transfer:
        transfer_setup(make_directive(f"transfer {{\n{transfer}\n}}"), site)
    config = parse(make_directive(f"kubernetes {zones} {{\n{options}\n}}"), ())
    site.add(Kubernetes(config, index, [packed for packed in map(addr.pack, own) if packed is not None]))
    site.add(FakeNext(failure(consts.REFUSED)))
    site.link()
    assert site.chain is not None
    return site.chain


async def messages(chain: Handler, name: str, qtype: str = "A", **how: object) -> list[dns.message.Message]:
    """The messages of one answer over TCP."""
    request = make_request(name, qtype, datagram=False, **how)  # type: ignore[arg-type]
    found = await settled(chain.serve(request))
    parts = [pack(request.query, part, datagram=False) for part in (found, *found.more)]
    return [dns.message.from_wire(wire, one_rr_per_rrset=qtype in ("AXFR", "IXFR")) for wire in parts]


async def answers(chain: Handler, name: str, qtype: str = "A") -> list[str]:
    """The data of one answer in its order; the rcode or NODATA in place of none."""
    (message,) = await messages(chain, name, qtype)
    found = [record.to_text() for rrset in message.answer for record in rrset]
    return found or [dns.rcode.to_text(message.rcode()) if message.rcode() else "NODATA"]
