import pytest

from support.asking import block, summary
from support.chain import make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.whoami import parse, setup


async def test_the_client_is_in_the_additional_section() -> None:
    reply = await block(setup, "whoami").ask("WWW.example.org.", client=("192.0.2.9", 40000))
    assert summary(reply) == (
        "NOERROR", "QR AA RD", [], [],
        ["WWW.example.org. 0 A 192.0.2.9", "_udp.WWW.example.org. 0 SRV 0 0 40000 ."],
    )  # fmt: skip


async def test_ipv6_and_streams() -> None:
    reply = await block(setup, "whoami").ask(".", "TXT", client=("fe80::1%eth0", 1234, 0, 2), datagram=False)
    assert summary(reply)[4] == [". 0 AAAA fe80::1", "_tcp. 0 SRV 0 0 1234 ."]


async def test_the_class_is_the_question_s() -> None:
    reply = await block(setup, "whoami").reply("example.org.", "TXT", qclass="CH")
    assert {record.rclass for record in reply.additional} == {3}


def test_arguments_are_refused() -> None:
    with pytest.raises(CorefileError, match="unexpected line ending after 'x'"):
        parse(make_directive("whoami x"))
