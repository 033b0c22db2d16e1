from collections.abc import Callable

import dns.message
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import pytest

from support.asking import summary, texts
from support.serving import Serving
from waypost.dispatch.request import Request
from waypost.wire import consts, names
from waypost.wire.edns import Opt
from waypost.wire.record import Record, address, cname, soa
from waypost.wire.reply import Reply, failure


def record(owner: bytes, rtype: str, text: str, ttl: int = 100) -> Record:
    kind = dns.rdatatype.from_text(rtype)
    return Record(owner, kind, 1, ttl, dns.rdata.from_text(dns.rdataclass.IN, kind, text).to_wire() or b"")


def about(rtype: str, text: str) -> Callable[[Request], Reply]:
    """One record at the name asked, which `{}` stands for; and an address of `mail.` below it, as additional."""

    def answer(request: Request) -> Reply:
        name = request.query.qname
        shown = names.to_text(name)
        extra = (address(names.from_text(f"mail.{shown}"), 100, bytes(4)),)
        return Reply(0, consts.RA, (record(name, rtype, text.format(shown)),), additional=extra)

    return answer


ADDRESS = about("A", "192.0.2.1")


def serving(*rules: str, answer: Callable[[Request], Reply] = ADDRESS) -> Serving:
    lines = "\n".join(f"rewrite {rule}" for rule in rules)
    return Serving(f". {{\n{lines}\n}}", answer)


def asked(served: Serving) -> list[str]:
    return [f"{names.to_text(each.query.qname)} {consts.type_text(each.query.qtype)}" for each in served.last.seen]


def data(message: dns.message.Message) -> list[str]:
    return texts(message.answer)


async def test_the_question_and_the_owner_are_what_the_client_asked() -> None:
    """B103: the answer had the rewritten owner only, and clients did not take it."""
    served = serving("name a.org b.net")
    message = await served.ask("A.org.")
    assert asked(served) == ["b.net. A"]
    assert message.question[0].to_text() == "A.org. IN A"
    assert summary(message)[2:] == (["a.org. 100 A 192.0.2.1"], [], ["mail.a.org. 100 A 0.0.0.0"])


@pytest.mark.parametrize(
    ("rtype", "text", "expected"),
    [
        ("SRV", "1 2 3 srv.{}", "1 2 3 srv.a.org."),
        ("MX", "10 mail.{}", "10 mail.a.org."),
        ("CNAME", "target.{}", "target.a.org."),
        ("NS", "{}", "a.org."),
        ("DNAME", "x.{}", "x.a.org."),
        ("PTR", "x.{}", "x.a.org."),
        ("NAPTR", '1 2 "S" "SIP+D2U" "!a!b!" rep.{}', '1 2 "S" "SIP+D2U" "!a!b!" rep.a.org.'),
        ("SOA", "ns.{0} admin.{0} 1 2 3 4 5", "ns.a.org. admin.b.net. 1 2 3 4 5"),
        ("TXT", "{}", '"b.net."'),
        ("RP", "{0} {0}", "b.net. b.net."),
    ],
)
async def test_names_in_data(rtype: str, text: str, expected: str) -> None:
    served = serving("name exact a.org b.net", answer=about(rtype, text))
    assert data(await served.ask("a.org.", rtype)) == [f"a.org. 100 {rtype} {expected}"]


@pytest.mark.parametrize(
    ("rule", "name", "owner", "value"),
    [
        ("name suffix .a.org .b.net answer auto", "x.y.a.org.", "x.y.a.org.", "mail.x.y.a.org."),
        ("name suffix .a.org .b.net", "x.a.org.", "x.b.net.", "mail.x.b.net."),
        ("name prefix foo bar answer auto", "foo.a.org.", "foo.a.org.", "mail.foo.a.org."),
        ("name substring .in. .out. answer auto", "a.in.b.in.c.", "a.in.b.in.c.", "mail.a.in.b.in.c."),
        ("name regex (.*)\\.a {1}.b answer name (.*)\\.b {1}.a", "x.a.", "x.a.", "mail.x.b."),
        ("name regex (.*)\\.a {1}.b answer name (.*)\\.b {1}.a value (.*)\\.b {1}.V", "x.a.", "x.a.", "mail.x.v."),
        ("name exact a.org b.net answer value mail\\.b\\.net mx.org", "a.org.", "a.org.", "mx.org."),
        ("name regex ^a\\.org\\.$ b.net", "a.org.", "b.net.", "mail.b.net."),
    ],
)
async def test_answer_rules(rule: str, name: str, owner: str, value: str) -> None:
    """B103, B169: with `answer auto` and without it."""
    served = serving(rule, answer=about("MX", "10 mail.{}"))
    assert data(await served.ask(name, "MX")) == [f"{owner} 100 MX 10 {value}"]


async def test_an_answer_that_would_be_no_name_stays() -> None:
    served = serving("name regex (.*)\\.a {1}.b answer name (.*) {1}")
    assert data(await served.ask("x.a.")) == ["x.b. 100 A 192.0.2.1"]


async def test_suffixes_map_back_other_names_too() -> None:
    other = (cname(names.from_text("x.b.net."), 5, names.from_text("Y.b.net.")),)
    served = serving("name suffix .a.org .b.net answer auto", answer=lambda request: Reply(0, 0, other))
    assert data(await served.ask("x.a.org.")) == ["x.a.org. 5 CNAME Y.a.org."]


async def test_rules_run_on_until_one_stops() -> None:
    served = serving("continue name a.org b.org", "name suffix .org .net answer auto", "name b.net c.net")
    assert data(await served.ask("a.org.")) == ["a.org. 100 A 192.0.2.1"]
    assert asked(served) == ["b.net. A"]


async def test_a_rule_that_does_not_fit_does_not_stop() -> None:
    served = serving("type MX SRV", "type ANY HINFO", "name a.org b.org")
    await served.ask("a.org.", "ANY")
    await served.ask("a.org.", "A")
    assert asked(served) == ["a.org. HINFO", "b.org. A"]


async def test_what_no_rule_fits_goes_on_as_it_came() -> None:
    served = serving("name a.org b.org", "ttl c.org 5")
    await served.ask("B.org.", bufsize=1400, do=True)
    (request,) = served.last.seen
    assert request.asked is None
    assert request.query.qname == names.from_text("B.org.")


async def test_the_child_keeps_flags_and_edns() -> None:
    served = serving("name a.org b.org")
    await served.ask("a.org.", bufsize=1400, do=True, rd=False)
    (request,) = served.last.seen
    assert request.query.opt == Opt(1400, 0, 0x8000)
    assert not request.query.flags & consts.RD


async def test_the_class_of_the_question_is_put_back() -> None:
    served = Serving(". {\nchaos x\nrewrite class CH IN\n}", ADDRESS)
    message = await served.ask("a.org.", qclass="CH")
    assert message.question[0].to_text() == "a.org. CH A"
    assert served.last.seen[0].query.qclass == consts.CLASS_IN


@pytest.mark.parametrize(
    ("rule", "ttl"), [("100-", 100), ("-30", 30), ("7", 7), ("200-300", 200), ("50-150", 100), ("0", 0)]
)
async def test_ttl_bounds(rule: str, ttl: int) -> None:
    served = serving(f"ttl suffix .org {rule}")
    message = await served.ask("a.org.")
    assert (message.answer[0].ttl, message.additional[0].ttl) == (ttl, ttl)
    assert (await served.ask("a.net.")).answer[0].ttl == 100


async def test_rcode_of_a_bare_reply_and_of_one_that_no_plugin_wrote() -> None:
    served = serving("rcode suffix .org SERVFAIL NXDOMAIN", answer=lambda request: Reply(consts.SERVFAIL, consts.RA))
    assert summary(await served.ask("a.org.")) == ("NXDOMAIN", "QR RA", [], [], [])
    served.last.answer = lambda request: failure(consts.SERVFAIL, "broken")
    assert summary(await served.ask("a.org.")) == ("NXDOMAIN", "QR RD", [], [], [])
    assert summary(await served.ask("a.net.")) == ("SERVFAIL", "QR RD", [], [], [])
    served.last.answer = lambda request: Reply(consts.NXDOMAIN, 0)
    assert summary(await served.ask("a.org."))[0] == "NXDOMAIN"


async def test_silence_stays_silence() -> None:
    served = serving("rcode suffix .org NOERROR NXDOMAIN", answer=lambda request: Reply(0, 0, written=False))
    assert (
        await served.send(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x03org\x00\x00\x01\x00\x01") is None
    )


async def test_a_name_that_is_none_is_servfail() -> None:
    served = serving("name regex ^all\\.(.+)$ {0}")
    assert summary(await served.ask("all.a.org.")) == ("SERVFAIL", "QR RD", [], [], [])
    assert served.last.seen == []


def chains(request: Request) -> Reply:
    name = request.name
    if name == names.from_text("www.org."):
        aliases = [("www.org.", "mid.net."), ("mid.net.", "Lb.cdn.")]
        answer = tuple(cname(names.from_text(owner), 90, names.from_text(target)) for owner, target in aliases)
        return Reply(0, consts.AA, (*answer, address(names.from_text("lb.cdn."), 90, bytes(4))))
    if name == names.from_text("lb.own."):
        return Reply(0, consts.TC, (address(name, 20, bytes((1, 2, 3, 4))),), depends=(b"key",))
    return Reply(consts.NXDOMAIN, 0, authority=(soa(names.ROOT, 5, names.ROOT, names.ROOT, 1, (1, 1, 1, 1)),))


@pytest.mark.parametrize(
    "rule", ["cname lb.cdn lb.own", "cname suffix .cdn .own", "cname regex (?i)^(.*)\\.cdn\\.$ lb.own"]
)
async def test_cname_targets_are_looked_up_anew(rule: str) -> None:
    served = serving(rule, answer=chains)
    message = await served.ask("www.org.", "A", datagram=False)
    rcode, flags, answer = summary(message)[:3]
    assert (rcode, flags, [line.replace("Lb", "lb") for line in answer]) == (
        "NOERROR",
        "QR AA TC",
        ["lb.own. 20 A 1.2.3.4", "mid.net. 90 CNAME lb.own.", "www.org. 90 CNAME mid.net."],
    )
    assert [text.lower() for text in asked(served)] == ["www.org. a", "lb.own. a"]


async def test_a_cname_to_nowhere_stands_alone() -> None:
    message = await serving("cname mid.net. nowhere.", answer=chains).ask("www.org.")
    assert summary(message)[:3] == ("NOERROR", "QR AA", ["www.org. 90 CNAME nowhere."])


async def test_a_cname_that_leads_back_ends() -> None:
    served = serving("cname mid.net. www.org.", answer=chains)
    assert (await served.ask("www.org.")).rcode() == 0
    assert len(served.last.seen) < 20


def reflected(request: Request) -> Reply:
    """No answer; the query's OPT comes back."""
    return Reply(0, 0, opt=request.query.opt)


def options(served: Serving) -> list[tuple[int, bytes]]:
    opt = served.last.seen[-1].query.opt
    assert opt is not None
    return [(code, bytes(data)) for code, data in opt.options]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0x0aFF", b"\x0a\xff"),
        ("plain", b"plain"),
        ("{qname}", b"A.org."),
        ("{qtype}", b"\x00\x01"),
        ("{client_ip}", bytes((192, 0, 2, 9))),
        ("{client_port}", b"\x9c\x40"),
        ("{protocol}", b"udp"),
        ("{server_port}", b"\x00\x35"),
        ("{server_ip}", bytes(16)),
    ],
)
async def test_values_of_options(value: str, expected: bytes) -> None:
    served = serving(f"edns0 local set 0xffee {value}")
    await served.ask("A.org.", bufsize=1400)
    assert options(served) == [(0xFFEE, expected)]


async def test_metadata_in_options() -> None:
    served = Serving(
        ". {\nmetadata\nview inner {\n}\nrewrite continue edns0 local set 1 {view/name}\n"
        "rewrite edns0 local set 2 {no/label}\n}",
        reflected,
    )
    await served.ask("a.org.", bufsize=1400)
    assert options(served) == [(1, b"inner")]


SENT = (dns.edns.GenericOption(65000, b"old"), dns.edns.GenericOption(65001, b"other"))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("local set 65000 new", [(65000, b"new"), (65001, b"other")]),
        ("local append 65000 new", [(65000, b"old"), (65001, b"other"), (65000, b"new")]),
        ("local replace 65000 new", [(65000, b"new"), (65001, b"other")]),
        ("local replace 65009 new", [(65000, b"old"), (65001, b"other")]),
        ("local unset 65000", [(65001, b"other")]),
        ("nsid set", [(65000, b"old"), (65001, b"other"), (3, b"")]),
        ("subnet set 20 56", [(65000, b"old"), (65001, b"other"), (8, b"\x00\x01\x14\x00\xc0\x00\x00")]),
        ("subnet append 0 0", [(65000, b"old"), (65001, b"other"), (8, b"\x00\x01\x00\x00")]),
    ],
)
async def test_actions(rule: str, expected: list[tuple[int, bytes]]) -> None:
    served = serving(f"edns0 {rule}", answer=reflected)
    await served.ask("a.org.", options=SENT)
    assert options(served) == expected


async def test_subnet_of_an_ipv6_client() -> None:
    served = serving("edns0 subnet set 24 56")
    await served.ask("a.org.", client=("2001:db8:1:2ff::1", 5, 0, 0), bufsize=1400)
    assert options(served) == [(8, bytes.fromhex("0002380020010db8000102"))]


@pytest.mark.parametrize(("sent", "expected"), [((), []), (SENT, [(65000, b"old"), (65001, b"other")])])
async def test_reverted_options(sent: tuple[dns.edns.Option, ...], expected: list[tuple[int, bytes]]) -> None:
    served = serving("edns0 local set 65000 new revert", answer=reflected)
    message = await served.ask("a.org.", bufsize=1400, options=sent)
    assert [(int(each.otype), each.to_wire()) for each in message.options] == expected
    served.last.answer = lambda request: Reply(0, 0)
    assert (await served.ask("a.org.", bufsize=1400)).options == ()


async def test_the_opt_of_the_reply_answers_the_one_that_was_made() -> None:
    served = serving("edns0 local set 65000 new", answer=lambda request: Reply(0, 0, opt=Opt(1232, 0, 0x8000)))
    message = await served.ask("a.org.")
    assert (message.edns, message.payload, message.options) == (0, 4096, ())
    served.last.answer = lambda request: Reply(0, 0)
    message = await served.ask("a.org.", bufsize=1400, do=True, options=(dns.edns.GenericOption(65001, b"x"),))
    assert (message.payload, bool(message.ednsflags & 0x8000)) == (1400, True)
    assert [(int(each.otype), each.to_wire()) for each in message.options] == [(65000, b"new")]


async def test_errors_stay_unwritten_with_edns_rules() -> None:
    served = serving("edns0 local set 65000 new", answer=lambda request: failure(consts.SERVFAIL))
    message = await served.ask("a.org.")
    assert (message.rcode(), message.edns) == (2, -1)


async def test_every_message_of_a_transfer_is_changed() -> None:
    one = Reply(0, 0, (address(names.from_text("b.org."), 5, bytes(4)),))
    served = serving("name a.org b.org", answer=lambda request: one.replace(more=(one,)))
    out = await served.send(
        b"\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x03org\x00\x00\xfc\x00\x01", datagram=False
    )
    assert isinstance(out, tuple)
    owners = [dns.message.from_wire(wire).answer[0].name.to_text() for wire in out]
    assert owners == ["a.org.", "a.org."]
    assert one.answer[0].owner == names.from_text("b.org.")
