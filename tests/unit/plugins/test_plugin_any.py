import pytest

from support.asking import block, summary
from support.chain import FakeProcess, make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.any import parse, setup
from waypost.wire import consts
from waypost.wire.reply import Reply

NEXT = Reply(consts.NXDOMAIN, 0)


@pytest.mark.parametrize("qclass", ["IN", "CH"])
async def test_any_is_one_hinfo_record(qclass: str) -> None:
    reply = await block(setup, "any").ask("WWW.example.ORG.", "ANY", qclass=qclass)
    assert summary(reply) == (
        "NOERROR", "QR RD", ['WWW.example.ORG. 8482 HINFO "ANY obsoleted" "See RFC 8482"'], [], [],
    )  # fmt: skip


async def test_other_types_are_passed_on() -> None:
    assert await block(setup, "any", reply=NEXT).reply("example.org.", "HINFO") is NEXT


def test_stray_arguments_are_told_and_blocks_refused() -> None:
    process = FakeProcess()
    block(setup, "any x y", process=process)
    assert process.lines == ["[WARNING] any takes no arguments, found: x y"]
    with pytest.raises(CorefileError, match="unknown property 'foo'"):
        parse(make_directive("any {\n foo\n}"))
