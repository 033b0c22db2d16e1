import pytest

from support.asking import block
from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.bufsize import Config, parse, setup
from waypost.wire import consts, names
from waypost.wire.record import address
from waypost.wire.reply import Reply

NAME = names.from_text("a.org")
MANY = Reply(consts.NOERROR, consts.AA, tuple(address(NAME, 5, bytes((10, 0, 0, n))) for n in range(60)))


@pytest.mark.parametrize(("asked", "seen"), [(400, 400), (512, 512), (1232, 512), (8192, 512)])
async def test_the_size_is_capped_for_plugins_behind_and_for_the_reply(asked: int, seen: int) -> None:
    served = block(setup, "bufsize 512", reply=MANY)
    reply = await served.ask("a.org.", bufsize=asked)
    (request,) = served.following.seen
    assert request.query.opt is not None
    assert request.query.opt.udp_size == seen
    assert reply.payload == seen
    assert reply.flags & 0x0200
    assert sum(map(len, reply.answer)) < 60


async def test_the_rest_of_the_query_stays() -> None:
    served = block(setup, "bufsize", reply=MANY)
    await served.ask("A.org.", bufsize=4096, do=True)
    (request,) = served.following.seen
    assert request.query.do
    assert request.query.qname == names.from_text("A.org")
    assert request.query.wire[-11:-8] == b"\0\0\x29"
    assert request.query.wire[-8:-6] == (4096).to_bytes(2, "big")


async def test_a_query_without_edns_is_not_touched() -> None:
    served = block(setup, "bufsize 512", reply=MANY)
    assert (await served.ask("a.org.")).edns == -1


async def test_over_a_stream_only_the_number_changes() -> None:
    reply = await block(setup, "bufsize 512", reply=MANY).ask("a.org.", bufsize=4096, datagram=False)
    assert reply.payload == 512
    assert sum(map(len, reply.answer)) == 60


@pytest.mark.parametrize(
    ("text", "size"),
    [("bufsize", 1232), ("bufsize 512", 512), ("bufsize 4096", 4096), ("bufsize 512\nbufsize 600", 512)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse(make_directive(text)) == Config(size)


@pytest.mark.parametrize(
    ("text", "after"), [("511", "511"), ("4097", "4097"), ("-1", "-1"), ("x", "x"), ("512 1232", "1232")]
)
def test_sizes_that_are_refused(text: str, after: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"bufsize {text}"))
    assert str(caught.value) == (
        "plugin/bufsize: Corefile:2 - Error during parsing: "
        f"Wrong argument count or unexpected line ending after '{after}'"
    )
