import dns.edns
import dns.message
import pytest

from support.chain import make_wire
from support.serving import Serving
from waypost.dispatch.request import Address, Request
from waypost.wire import consts
from waypost.wire.edns import DO
from waypost.wire.record import address
from waypost.wire.reply import Reply


def found(request: Request) -> Reply:
    return Reply(0, consts.AA, (address(request.query.qname, 5, bytes(4)),))


def serving(text: str, labels: str = ".") -> Serving:
    return Serving(f"{labels} {{\n{text}\n}}", found)


def told(message: dns.message.Message) -> tuple[int, int | None]:
    """The rcode, and the code of an Extended DNS Error."""
    errors = [option for option in message.options if option.otype == dns.edns.EDE]
    return message.rcode(), int(errors[0].code) if errors else None


async def test_what_clients_get() -> None:
    served = serving("acl {\n block type A\n filter type AAAA\n drop type TXT\n allow type MX\n}")
    message = await served.ask("a.org.", "A")
    assert told(message) == (consts.REFUSED, 15)
    assert (message.payload, message.ednsflags, message.answer) == (4096, DO, [])
    message = await served.ask("a.org.", "AAAA", bufsize=1400)
    assert told(message) == (consts.NOERROR, 17)
    assert (message.payload, message.answer) == (1400, [])
    assert await served.send(make_wire("a.org.", "TXT")) is None
    assert told(await served.ask("a.org.", "MX")) == (0, None)
    assert told(await served.ask("a.org.", "NS")) == (0, None)
    assert [consts.type_text(request.query.qtype) for request in served.last.seen] == ["MX", "NS"]


@pytest.mark.parametrize(
    ("client", "rcode"),
    [
        (("10.0.0.1", 1), consts.REFUSED),
        (("11.0.0.1", 1), 0),
        (("::ffff:10.0.0.1", 1, 0, 0), consts.REFUSED),
        (("fe80::1%eth0", 1, 0, 2), consts.REFUSED),
        (("fe80::2%eth0", 1, 0, 2), 0),
    ],
)
async def test_clients(client: Address, rcode: int) -> None:
    served = serving("acl {\n block net 10.0.0.0/8 fe80::1\n}")
    assert (await served.ask("a.org.", client=client)).rcode() == rcode


async def test_a_client_that_is_no_address_is_blocked_where_a_rule_is() -> None:
    served = serving("acl a.org {\n allow\n}")
    assert told(await served.ask("a.org.", client=("socket", 0))) == (consts.REFUSED, 15)
    assert told(await served.ask("b.org.", client=("socket", 0))) == (0, None)
    expected = "[ERROR] plugin/acl: Blocking request. Unable to parse source address: socket"
    assert served.process.lines == [expected]


async def test_the_first_policy_that_fits_decides_and_rules_without_one_pass_on() -> None:
    served = serving("acl a.org {\n allow net 192.0.2.9\n block\n}\nacl {\n block net 192.0.2.0/24\n filter type A\n}")
    assert told(await served.ask("x.a.org.")) == (0, None)
    assert told(await served.ask("b.org.")) == (consts.REFUSED, 15)
    assert told(await served.ask("x.A.org.", client=("10.0.0.1", 1))) == (consts.REFUSED, 15)
    assert told(await served.ask("b.org.", client=("10.0.0.1", 1))) == (consts.NOERROR, 17)


async def test_counters() -> None:
    served = serving(
        "view inner {\n}\nacl a.org {\n block type A\n drop type TXT\n filter type MX\n}\nacl b.org {\n block\n}",
        "org",
    )
    for name, qtype in (("a.org.", "A"), ("x.A.org.", "A"), ("b.org.", "A"), ("a.org.", "MX"), ("c.org.", "A")):
        await served.ask(name, qtype)
    await served.send(make_wire("a.org.", "TXT"))
    server, view = "dns://:53", "inner"
    assert served.counted("coredns_acl_blocked_requests_total") == {
        (server, "a.org.", view): 2,
        (server, "b.org.", view): 1,
    }
    assert served.counted("coredns_acl_dropped_requests_total") == {(server, "a.org.", view): 1}
    assert served.counted("coredns_acl_filtered_requests_total") == {(server, "a.org.", view): 1}
    assert served.counted("coredns_acl_allowed_requests_total") == {(server, view): 1}


REWRITTEN = "rewrite continue name exact public.org secret.org\nrewrite type ANY HINFO\n"


async def test_a_rewrite_opens_no_blocked_name() -> None:
    """S07: the name changed behind the check."""
    served = serving(REWRITTEN + "acl secret.org {\n block\n}")
    assert told(await served.ask("public.org.")) == (consts.REFUSED, 15)
    assert told(await served.ask("secret.org.")) == (consts.REFUSED, 15)
    assert told(await served.ask("other.org.")) == (0, None)


async def test_a_rewrite_does_not_unblock_what_the_client_asked() -> None:
    """S07"""
    served = serving(REWRITTEN + "acl public.org {\n block\n}\nacl {\n filter type ANY\n}")
    assert told(await served.ask("public.org.")) == (consts.REFUSED, 15)
    assert told(await served.ask("other.org.", "ANY")) == (consts.NOERROR, 17)
    assert told(await served.ask("secret.org.")) == (0, None)
    assert served.counted("coredns_acl_blocked_requests_total") == {("dns://:53", "public.org.", ""): 1}


async def test_a_look_up_of_the_server_is_judged_by_its_own_question() -> None:
    served = serving("dns64 {\n allow_ipv4\n}\nacl {\n block type AAAA net 10.0.0.0/8\n block type A net 11.0.0.0/8\n}")
    # AAAA is refused, and made of A, which is not.
    assert told(await served.ask("a.org.", "AAAA", client=("10.0.0.1", 1))) == (0, None)
    (request,) = served.last.seen
    assert (request.query.qtype, request.asked) == (consts.TYPE_A, None)
