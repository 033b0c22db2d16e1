import dns.edns
import pytest

from support.asking import Block, block
from support.chain import make_directive, make_wire
from waypost.corefile.errors import CorefileError
from waypost.plugins.nsid import Config, parse, setup
from waypost.wire import consts
from waypost.wire.edns import Opt, Option
from waypost.wire.reply import Reply, failure

REPLY = Reply(consts.NOERROR, consts.AA)


async def ask(served: Block, *options: dns.edns.Option, do: bool = False):
    return await served.ask("a.org.", wire=make_wire("a.org.", bufsize=1400, do=do, options=options))


def nsid(data: bytes = b"") -> dns.edns.GenericOption:
    return dns.edns.GenericOption(3, data)


async def test_who_asks_is_told() -> None:
    reply = await ask(
        block(setup, "nsid Use The Force", reply=REPLY), nsid(b"\xaa"), dns.edns.CookieOption(b"12345678", b"")
    )
    assert [(option.otype, option.to_wire()) for option in reply.options] == [(3, b"Use The Force")]
    assert (reply.payload, reply.ednsflags) == (1400, 0x8000)


async def test_who_does_not_ask_is_not() -> None:
    reply = await ask(block(setup, "nsid x", reply=REPLY))
    assert (reply.options, reply.ednsflags) == ((), 0)
    assert await block(setup, "nsid x", reply=REPLY).reply("a.org.") is REPLY


async def test_an_opt_from_behind_keeps_its_options_but_one() -> None:
    made = REPLY.replace(opt=Opt(512, 0, 0, (Option(15, b"\0\x16"), Option(3, b"upstream"))))
    reply = await ask(block(setup, "nsid x", reply=made), nsid())
    assert {option.otype: option.to_wire() for option in reply.options} == {15: b"\0\x16", 3: b"x"}
    assert reply.ednsflags == 0


async def test_what_nobody_wrote_is_left_to_the_server() -> None:
    failed = failure(consts.SERVFAIL, "no")
    served = block(setup, "nsid x", reply=failed)
    assert await served.reply("a.org.", wire=make_wire("a.org.", options=(nsid(),))) is failed


def test_words_are_joined_and_the_host_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(make_directive("nsid a b c")) == Config("a b c")
    assert parse(make_directive("nsid")) == Config(None)


async def test_the_host_s_name_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "node-7")
    reply = await ask(block(setup, "nsid", reply=REPLY), nsid())
    assert [option.to_wire() for option in reply.options] == [b"node-7"]


def test_a_second_line_is_refused() -> None:
    with pytest.raises(CorefileError, match=r"^this plugin can only be used once per Server Block$"):
        parse(make_directive("nsid a\nnsid b"))
