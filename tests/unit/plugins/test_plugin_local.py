import pytest

from support.asking import block, summary
from support.chain import FakeProcess, make_directive
from waypost.corefile.errors import CorefileError
from waypost.plugins.local import Config, parse, setup
from waypost.wire import consts
from waypost.wire.reply import Reply

NEXT = Reply(consts.REFUSED, 0)


def soa(owner: str) -> str:
    return f"{owner} 604800 SOA localhost. root.localhost. 1 0 0 0 604800"


@pytest.mark.parametrize(
    ("name", "qtype", "answer"),
    [
        ("LocalHost.", "A", "LocalHost. 604800 A 127.0.0.1"),
        ("localhost.", "AAAA", "localhost. 604800 AAAA ::1"),
        ("localhost.", "NS", "localhost. 604800 NS localhost."),
        ("localhost.", "SOA", soa("localhost.")),
        ("127.in-addr.arpa.", "SOA", soa("127.in-addr.arpa.")),
        ("255.in-addr.arpa.", "NS", "255.in-addr.arpa. 604800 NS localhost."),
        ("1.0.0.127.in-addr.arpa.", "PTR", "1.0.0.127.in-addr.arpa. 604800 PTR localhost."),
        ("a.localhost.", "A", "a.localhost. 604800 A 127.0.0.1"),
        ("a.b.localhost.", "AAAA", "a.b.localhost. 604800 AAAA ::1"),
        ("localhost.example.org.", "A", "localhost.example.org. 604800 A 127.0.0.1"),
    ],
)
async def test_what_there_is(name: str, qtype: str, answer: str) -> None:
    assert summary(await block(setup, "local").ask(name, qtype)) == ("NOERROR", "QR RD", [answer], [], [])


@pytest.mark.parametrize(
    ("name", "qtype", "rcode", "owner"),
    [
        ("localhost.", "TXT", "NOERROR", "localhost."),
        ("0.in-addr.arpa.", "A", "NOERROR", "0.in-addr.arpa."),
        ("1.0.0.127.IN-ADDR.arpa.", "A", "NOERROR", "127.IN-ADDR.arpa."),
        ("2.0.0.127.in-addr.arpa.", "PTR", "NXDOMAIN", "127.in-addr.arpa."),
        ("a.localhost.", "TXT", "NOERROR", "a.localhost."),
        ("localhost.example.org.", "MX", "NOERROR", "localhost.example.org."),
    ],
)
async def test_what_there_is_not(name: str, qtype: str, rcode: str, owner: str) -> None:
    assert summary(await block(setup, "local").ask(name, qtype)) == (rcode, "QR RD", [], [soa(owner)], [])


@pytest.mark.parametrize(
    "name", ["notlocalhost.", "a.localhost.example.org.", "localhostx.org.", "10.in-addr.arpa.", "."]
)
async def test_what_is_passed_on(name: str) -> None:
    assert await block(setup, "local", reply=NEXT).reply(name) is NEXT


async def test_the_prefix_can_be_switched_off() -> None:
    served = block(setup, "local {\n localhost_prefix off\n}", reply=NEXT)
    assert await served.reply("localhost.example.org.") is NEXT
    assert (await served.ask("a.localhost.")).rcode() == 0


async def test_special_names_are_counted_and_told_while_debugging() -> None:
    process = FakeProcess()
    served = block(setup, "local", process=process)
    served.site.log.set_debug(True)
    for name in ("localhost.", "a.localhost.", "localhost.example.org."):
        await served.ask(name)
    assert process.metrics.counter("coredns_local_localhost_requests_total", "").labels().value == 2
    assert process.lines[0] == '[DEBUG] Intercepting localhost query for "a.localhost." A, from 192.0.2.9'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("local x", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'x'"),
        ("local {\n foo\n}", "Corefile:3 - Error during parsing: unknown property 'foo'"),
        ("local {\n localhost_prefix\n}",
         "Corefile:3 - Error during parsing: Wrong argument count or unexpected line ending after 'localhost_prefix'"),
        ("local {\n localhost_prefix yes\n}",
         "Corefile:3 - Error during parsing: localhost_prefix expects 'on' or 'off', got \"yes\""),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == error


def test_defaults() -> None:
    assert parse(make_directive("local")) == Config(prefix=True)
