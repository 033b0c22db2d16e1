import ipaddress

import pytest

from support.asking import block, texts
from support.chain import make_directive
from support.serving import Serving
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Address, Request
from waypost.plugins.dns64 import Config, parse, setup, to_ipv6
from waypost.wire import consts, names
from waypost.wire.edns import Opt
from waypost.wire.record import Record, address, cname, soa
from waypost.wire.reply import DROP, Reply, failure

V6 = ("2001:db8::9", 4000, 0, 0)
V4 = ("192.0.2.9", 4000)


# RFC 6052 section 2.4, for 192.0.2.33.
@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("2001:db8::/32", "2001:db8:c000:221::"),
        ("2001:db8:100::/40", "2001:db8:1c0:2:21::"),
        ("2001:db8:122::/48", "2001:db8:122:c000:2:2100::"),
        ("2001:db8:122:300::/56", "2001:db8:122:3c0:0:221::"),
        ("2001:db8:122:344::/64", "2001:db8:122:344:c0:2:2100::"),
        ("2001:db8:122:344::/96", "2001:db8:122:344::192.0.2.33"),
        ("64:ff9b::/96", "64:ff9b::192.0.2.33"),
    ],
)
def test_addresses(prefix: str, expected: str) -> None:
    config = parse(make_directive(f"dns64 {prefix}"))
    made = to_ipv6(config.prefix, bytes((192, 0, 2, 33)))
    assert ipaddress.IPv6Address(made) == ipaddress.IPv6Address(expected)


def test_defaults() -> None:
    assert parse(make_directive("dns64")) == Config(bytes.fromhex("0064ff9b") + bytes(8), False, False)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("dns64 x", "invalid CIDR address: x"),
        ("dns64 {\n prefix\n}", "Wrong argument count or unexpected line ending after 'prefix'"),
        ("dns64 {\n prefix 10.0.0.0/8\n}", 'invalid netmask 32 IPv6 address: "10.0.0.0/8"'),
        ("dns64 {\n prefix 2001::1/24\n}", 'invalid prefix length "2001::/24"'),
        ("dns64 2001::/100", 'invalid prefix length "2001::/100"'),
        ("dns64 2001::/61", 'invalid prefix length "2001::/61"'),
        ("dns64 {\n foo\n}", "unknown property 'foo'"),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError, match=f"{error}$"):
        parse(make_directive(text))


def test_a_block_behind_a_prefix_is_not_read() -> None:
    served = block(setup, "dns64 64::/96 {\n allow_ipv4\n}")
    (line,) = served.process.lines
    assert line == "[WARNING] Corefile:2 - the block behind a prefix has no effect: use 'prefix' in it"
    assert parse(make_directive("dns64 64::/96 {\n allow_ipv4\n}")).allow_ipv4 is False


def zone(request: Request) -> Reply:
    """A zone with an A record of TTL 300, an alias, and no AAAA."""
    name, qtype = request.query.qname, request.query.qtype
    start = (soa(names.from_text("org."), 60, names.ROOT, names.ROOT, 1, (1, 1, 1, 1)),)
    if qtype == consts.TYPE_AAAA:
        return Reply(0, consts.AA | consts.RD, authority=start)
    owner = names.from_text("v4.org.")
    records: tuple[Record, ...] = (address(owner, 300, bytes((192, 0, 2, 33))),)
    if request.name != owner:
        records = (cname(name, 400, owner), *records)
    return Reply(0, consts.AA | consts.RD | consts.RA, records, depends=(b"key",))


def serving(text: str = "dns64") -> Serving:
    return Serving(f". {{\n{text}\n}}", zone)


async def test_aaaa_is_made_of_a() -> None:
    served = serving()
    message = await served.ask("Cn.org.", "AAAA", client=V6)
    assert texts(message.answer) == ["cn.org. 400 CNAME v4.org.", "v4.org. 60 AAAA 64:ff9b::c000:221"]
    assert (message.rcode(), message.flags & consts.AA, message.authority) == (0, 0, [])
    assert served.counted("coredns_dns64_requests_translated_total") == {("dns://:53",): 1}


@pytest.mark.parametrize(
    ("client", "qtype", "qclass", "text", "asked"),
    [
        (V4, "AAAA", "IN", "dns64", 1),
        (V4, "AAAA", "IN", "dns64 {\n allow_ipv4\n}", 2),
        (V6, "A", "IN", "dns64", 1),
        (V6, "AAAA", "CH", "dns64\nchaos x", 1),
    ],
)
async def test_what_is_translated(client: Address, qtype: str, qclass: str, text: str, asked: int) -> None:
    served = serving(text)
    await served.ask("v4.org.", qtype, client=client, qclass=qclass)
    assert len(served.last.seen) == asked


A_ONLY = Reply(0, 0, (address(names.from_text("v4.org."), 700, bytes(4)),), opt=Opt(1232))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(consts.SERVFAIL, consts.RA), ["v4.org. 600 AAAA 64:ff9b::"]),
        (Reply(consts.NOERROR, 0, (cname(names.ROOT, 5, names.ROOT),)), ["v4.org. 600 AAAA 64:ff9b::"]),
        (Reply(consts.NXDOMAIN, 0), []),
        (Reply(0, 0, (address(names.ROOT, 5, bytes(16)),)), [". 5 AAAA ::"]),
    ],
)
async def test_which_replies_call_for_it(reply: Reply, expected: list[str]) -> None:
    served = serving()
    served.last.answer = lambda request: reply if request.query.qtype == consts.TYPE_AAAA else A_ONLY
    assert texts((await served.ask("v4.org.", "AAAA", client=V6)).answer) == expected


async def test_translate_all() -> None:
    served = serving("dns64 {\n translate_all\n prefix 2001:db8::/32\n}")
    both = Reply(0, 0, (address(names.ROOT, 5, bytes(16)),))
    served.last.answer = lambda request: both if request.query.qtype == consts.TYPE_AAAA else A_ONLY
    assert texts((await served.ask("v4.org.", "AAAA", client=V6)).answer) == ["v4.org. 600 AAAA 2001:db8::"]


@pytest.mark.parametrize("reply", [failure(consts.SERVFAIL, "broken"), DROP])
async def test_what_no_plugin_wrote_stays(reply: Reply) -> None:
    served = block(setup, "dns64", reply=reply)
    assert await served.reply("v4.org.", "AAAA", client=V6) is reply
