"""Faults that users of cluster DNS servers reported in public, by whole Corefiles: none of them can happen here."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import dns.flags
import dns.message
import dns.rcode
import pytest

from support.chain import make_directive
from support.serving import Serving
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.plugins.reload import parse as parse_reload
from waypost.wire.record import address, txt
from waypost.wire.reply import Reply, authoritative


def answering(request: Request) -> Reply:
    return authoritative(request.query, (address(request.query.qname, 5, b"\x0a\x00\x00\x01"),))


def long(size: int) -> Callable[[Request], Reply]:
    """A reply whose records take so many bytes; the name asked is `a.`."""

    def answer(request: Request) -> Reply:
        records = []
        left = size
        while left:
            record = txt(request.query.qname, 5, b"x" * min(200, left - 13))
            taken = 2 + 10 + len(record.rdata)
            records.append(record)
            left -= taken
        return authoritative(request.query, tuple(records))

    return answer


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("reload 2s 0s", None),
        ("reload 2s 5s", None),
        ("reload 0s", "interval value must be greater or equal to 2s"),
        ("reload 1s", "interval value must be greater or equal to 2s"),
        ("reload 2s 500ms", "jitter value must be 0 or greater or equal to 1s"),
    ],
)
def test_intervals_of_reload(text: str, error: str | None) -> None:
    """B122: `reload 2s 0s`, as documented, was refused."""
    if error is None:
        config = parse_reload(make_directive(text))
        assert config.jitter <= config.interval / 2
        return
    with pytest.raises(CorefileError) as caught:
        parse_reload(make_directive(text))
    assert caught.value.text == error


BLOCKS = {
    "ten": "example.org {\nview ten {\nexpr incidr(client_ip(), '10.0.0.0/8')\n}\nmetadata\nchaos ten\n}\n",
    "eleven": "example.org {\nview eleven {\nexpr incidr(client_ip(), '11.0.0.0/8')\n}\nchaos eleven\n}\n",
    "other": "example.org {\nchaos other\n}\n",
}


@pytest.mark.parametrize("order", list(itertools.permutations(BLOCKS)), ids="-".join)
async def test_the_block_without_a_view_may_stand_anywhere(order: tuple[str, ...]) -> None:
    """B123: it was "already defined" unless it was the last. As ever the first block that fits answers."""
    served = Serving("".join(BLOCKS[name] for name in order), answering)
    for client, view in (("10.0.0.1", "ten"), ("11.0.0.1", "eleven"), ("12.0.0.1", "other")):
        fitting = next(name for name in order if name in (view, "other"))
        message = await served.ask("version.bind.example.org.", client=(client, 1))
        assert message.rcode() == dns.rcode.NOERROR
        site = served.last.seen[-1].site
        assert site is not None
        assert (site.view or "other") == fitting


@pytest.mark.parametrize("name", ["a.example.org.", "A.Example.Org.", "EXAMPLE.ORG.", "example.org."])
@pytest.mark.parametrize("label", ["EXAMPLE.ORG", "Example.org."])
async def test_a_label_in_capitals(label: str, name: str) -> None:
    """B124: such a block never answered."""
    served = Serving(f"{label} {{\nerrors\n}}\n", answering)
    message = await served.ask(name)
    assert (message.rcode(), str(message.answer[0].name)) == (dns.rcode.NOERROR, name)


class TestUdpSize:
    @pytest.mark.parametrize(("asked", "limit"), [(65535, 1232), (1233, 1232), (1232, 1232), (1000, 1000), (0, 512)])
    async def test_the_server_has_a_say(self, asked: int, limit: int) -> None:
        """B143: the client alone decided, up to 64 KB."""
        served = Serving(". {\nlog\nwaypost {\nmax_udp_size 1232\n}\n}\nb {\nerrors\n}\n", long(5000))
        for name in ("a.", "b."):  # the option holds for every block
            out = await served.send(make(name, asked))
            assert isinstance(out, bytes)
            assert limit - 250 < len(out) <= limit
            assert dns.message.from_wire(out).flags & dns.flags.TC
        assert any("qr,aa,tc,rd" in line for line in served.process.lines)

    async def test_without_edns_and_over_tcp_it_is_as_ever(self) -> None:
        """B143"""
        served = Serving(". {\nwaypost {\nmax_udp_size 1232\n}\n}\n", long(5000))
        small = await served.send(make("a.", None))
        assert isinstance(small, bytes)
        assert len(small) <= 512
        whole = await served.ask("a.", bufsize=65535, datagram=False)
        assert not whole.flags & dns.flags.TC

    async def test_off_it_is_the_clients_size(self) -> None:
        """B143"""
        served = Serving(". {\nerrors\n}\n", long(5000))
        assert not (await served.ask("a.", bufsize=6000)).flags & dns.flags.TC


async def test_answers_around_512_bytes() -> None:
    """B145: what a client without EDNS can take arrives whole, and not a byte more is sent."""
    question = 12 + 3 + 4
    for size in range(470, 540):
        served = Serving(". {\nerrors\n}\n", long(size))
        out = await served.send(make("a.", None))
        assert isinstance(out, bytes)
        message = dns.message.from_wire(out)
        assert len(out) <= 512
        assert bool(message.flags & dns.flags.TC) == (question + size > 512), size
        assert message.authority == message.additional == []


def make(name: str, bufsize: int | None) -> bytes:
    """A question with this EDNS size, which may be 0; None: without EDNS."""
    message = dns.message.make_query(name, "TXT")
    if bufsize is not None:
        message.use_edns(0, 0, bufsize)
    return message.to_wire()
