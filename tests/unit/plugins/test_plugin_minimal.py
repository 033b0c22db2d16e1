import pytest

from support.asking import block
from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.minimal import parse, setup
from waypost.wire import consts, names
from waypost.wire.edns import Opt
from waypost.wire.record import address, ns, soa
from waypost.wire.reply import DROP, Reply, failure

NAME = names.from_text("a.org")
A = (address(NAME, 7, b"\x01\x02\x03\x04"),)
NS = (ns(NAME, 7, NAME),)
SOA = (soa(NAME, 7, NAME, NAME, 1, (2, 3, 4, 5)),)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(consts.NOERROR, consts.AA, A, NS, A),
        Reply(consts.NOERROR, consts.AA, A, SOA, A, Opt(4096)),
        Reply(consts.NOERROR, consts.AA, (), (), A),
    ],
)
async def test_positive_answers_lose_the_other_sections(reply: Reply) -> None:
    short = await block(setup, "minimal", reply=reply).reply("a.org.")
    assert (short.rcode, short.flags, short.answer) == (reply.rcode, reply.flags, reply.answer)
    assert (short.authority, short.additional, short.opt) == ((), (), None)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(consts.NOERROR, 0, (), NS, A),
        Reply(consts.NOERROR, consts.AA, (), SOA, A),
        Reply(consts.NXDOMAIN, consts.AA, (), SOA, A),
        Reply(consts.SERVFAIL, 0, (), NS, ()),
        Reply(consts.NOERROR, 0, A),
        failure(consts.SERVFAIL, "upstream"),
        DROP,
    ],
)
async def test_referrals_denials_errors_and_silence_stay(reply: Reply) -> None:
    assert await block(setup, "minimal", reply=reply).reply("a.org.") is reply


async def test_transfers_stay() -> None:
    reply = Reply(consts.NOERROR, consts.AA, SOA, NS, A)
    assert await block(setup, "minimal", reply=reply).reply("a.org.", "AXFR", datagram=False) is reply


def test_arguments_and_blocks_are_refused() -> None:
    for text in ("minimal x", "minimal {\n}"):
        with pytest.raises(CorefileError):
            parse(make_directive(text))
