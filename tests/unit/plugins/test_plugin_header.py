import pytest

from support.asking import block
from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.header import Change, Config, parse, setup
from waypost.wire import consts
from waypost.wire.reply import Reply, failure


async def test_reply_bits() -> None:
    reply = Reply(consts.NOERROR, consts.AA | consts.RD)
    served = block(setup, "header {\n response set ra\n RESPONSE Clear AA rd\n}", reply=reply)
    assert (await served.reply("a.org.")).flags == consts.RA
    assert reply.flags == consts.AA | consts.RD


async def test_the_last_word_on_a_bit_wins() -> None:
    served = block(
        setup, "header {\n response set aa ra\n response clear aa\n}", reply=Reply(consts.NOERROR, consts.AA)
    )
    assert (await served.reply("a.org.")).flags == consts.RA


async def test_query_bits_are_seen_behind_and_in_the_reply() -> None:
    served = block(setup, "header {\n query clear rd\n query set aa\n}")
    reply = await served.ask("A.org.", bufsize=1232)
    (request,) = served.following.seen
    assert not request.query.flags & consts.RD
    assert request.query.flags & consts.AA
    assert request.query.wire[2:4] == request.query.flags.to_bytes(2, "big")
    assert request.query.opt is not None
    assert not reply.flags & consts.RD


async def test_what_nobody_wrote_keeps_its_bits() -> None:
    failed = failure(consts.SERVFAIL)
    assert await block(setup, "header {\n response set ra\n}", reply=failed).reply("a.org.") is failed


def test_the_first_block_with_rules_counts() -> None:
    text = "header {\n}\nheader {\n response set ra\n}\nheader {\n response clear ra\n}"
    assert parse(make_directive(text)) == Config(response=Change(on=consts.RA))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("set ra", "setting up rule: invalid selector=set should be query or response"),
        ("Reply set ra", "setting up rule: invalid selector=reply should be query or response"),
        ("response", "setting up rule: no flag action provided"),
        ("response set", "setting up rule: invalid length for flags, at least one should be provided"),
        ("response Flip ra", "setting up rule: unknown flag action=flip, should be set or clear"),
        ("query set ra TC", "setting up rule: unknown/unsupported flag=tc"),
    ],
)
def test_rules_that_are_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"header {{\n {text}\n}}"))
    assert str(caught.value) == error


@pytest.mark.parametrize("text", ["header", "header {\n}"])
def test_a_header_without_rules_is_refused(text: str) -> None:
    with pytest.raises(CorefileError, match="Wrong argument count"):
        parse(make_directive(text))
