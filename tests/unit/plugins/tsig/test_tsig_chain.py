import base64

import dns.message
import dns.name
import dns.opcode
import dns.tsig
import pytest

from support.serving import Serving
from waypost.dispatch.request import Request
from waypost.wire import consts, names
from waypost.wire.record import address, cname
from waypost.wire.reply import Reply, failure

SECRET = b"0123456789abcdef"
TEXT = base64.b64encode(SECRET).decode()
COREFILE = f"""signed.org {{
    tsig {{
        secret key.org. {TEXT}
        require TXT
        require_opcode NOTIFY
    }}
}}
all.org {{
    tsig {{
        require all
    }}
}}
open.org {{
}}"""


def found(request: Request) -> Reply:
    return Reply(0, consts.AA, (address(request.query.qname, 5, bytes(4)),))


def query(
    name: str, qtype: str = "A", secret: bytes | None = SECRET, key: str = "key.org.", edns: int | None = None
) -> dns.message.Message:
    message = dns.message.make_query(name, qtype, use_edns=0 if edns else None, payload=edns)
    if secret is not None:
        message.use_tsig({dns.name.from_text(key): secret}, dns.name.from_text(key), algorithm=dns.tsig.HMAC_SHA256)
    return message


async def ask(served: Serving, message: dns.message.Message, *, datagram: bool = True) -> dns.message.Message:
    """The reply, its signature verified if it has one that can be."""
    out = await served.send(message.to_wire(), datagram=datagram)
    assert isinstance(out, bytes)
    reply = dns.message.from_wire(out, keyring=False)
    if reply.had_tsig and not reply.tsig_error:
        dns.message.from_wire(out, keyring=message.keyring, request_mac=message.mac)
    return reply


@pytest.mark.parametrize(
    ("name", "qtype", "rcode"),
    [
        ("signed.org.", "A", 0),
        ("x.signed.org.", "TXT", consts.REFUSED),
        ("x.all.org.", "A", consts.REFUSED),
        ("open.org.", "TXT", 0),
    ],
)
async def test_queries_without_signature(name: str, qtype: str, rcode: int) -> None:
    reply = await ask(Serving(COREFILE, found), query(name, qtype, None))
    assert (reply.rcode(), reply.had_tsig) == (rcode, False)


async def test_opcodes_that_must_be_signed() -> None:
    message = query("signed.org.", "SOA", None)
    message.set_opcode(dns.opcode.NOTIFY)
    assert (await ask(Serving(COREFILE, found), message)).rcode() == consts.REFUSED


@pytest.mark.parametrize("name", ["signed.org.", "x.all.org."])
@pytest.mark.parametrize("edns", [None, 1400])
async def test_good_signatures(name: str, edns: int | None) -> None:
    served = Serving(COREFILE, found)
    reply = await ask(served, query(name, "TXT", edns=edns))
    assert (reply.rcode(), reply.had_tsig, len(reply.answer)) == (0, True, 1)
    assert reply.edns == (0 if edns else -1)
    (request,) = served.last.seen
    assert not dns.message.from_wire(request.query.wire).had_tsig


async def test_a_block_without_tsig_leaves_it_alone() -> None:
    served = Serving(COREFILE, found)
    assert not (await ask(served, query("open.org."))).had_tsig
    assert dns.message.from_wire(served.last.seen[0].query.wire, keyring=False).had_tsig


@pytest.mark.parametrize(
    ("secret", "key", "error"), [(b"wrong", "key.org.", dns.rcode.BADSIG), (SECRET, "no.org.", dns.rcode.BADKEY)]
)
async def test_bad_signatures(secret: bytes, key: str, error: int) -> None:
    served = Serving(COREFILE, found)
    reply = await ask(served, query("signed.org.", "A", secret, key))
    assert (reply.rcode(), reply.tsig_error, reply.answer) == (consts.NOTAUTH, error, [])
    assert served.last.seen == []


async def test_what_the_server_writes_is_signed_too() -> None:
    served = Serving(COREFILE, lambda request: failure(consts.SERVFAIL, "broken"))
    reply = await ask(served, query("signed.org."))
    assert (reply.rcode(), reply.had_tsig) == (consts.SERVFAIL, True)


async def test_silence_stays_silence() -> None:
    served = Serving(COREFILE, lambda request: Reply(0, 0, written=False))
    assert await served.send(query("signed.org.").to_wire()) is None


async def test_a_signature_that_is_not_last_is_formerr() -> None:
    served = Serving(COREFILE, found)
    out = await served.send(query("signed.org.").to_wire() + b"\x00")
    assert isinstance(out, bytes)
    assert dns.message.from_wire(out).rcode() == consts.FORMERR


async def test_a_datagram_that_its_signature_makes_too_long_is_truncated() -> None:
    owner = names.from_text("signed.org.")
    many = Reply(0, consts.AA, tuple(address(owner, 5, bytes((n, 0, 0, 0))) for n in range(28)))
    served = Serving(COREFILE, lambda request: many)
    reply = await ask(served, query("signed.org."))
    assert (reply.flags & consts.TC, reply.answer, reply.had_tsig) == (consts.TC, [], True)
    assert len((await ask(served, query("signed.org."), datagram=False)).answer[0]) == 28
    reply = await ask(served, query("signed.org.", edns=1232))
    assert (reply.flags & consts.TC, len(reply.answer[0]), reply.edns) == (0, 28, 0)


async def test_every_message_of_a_transfer_is_signed() -> None:
    one = Reply(0, consts.AA)
    served = Serving(COREFILE, lambda request: one.replace(more=(one, one)))
    message = query("signed.org.", "AXFR")
    out = await served.send(message.to_wire(), datagram=False)
    assert isinstance(out, tuple)
    assert len(out) == 3
    context = None
    for wire in out:
        reply = dns.message.from_wire(
            wire, keyring=message.keyring, request_mac=message.mac, multi=True, tsig_ctx=context, xfr=True
        )
        assert reply.had_tsig
        context = reply.tsig_ctx


async def test_a_look_up_is_as_known_as_its_client() -> None:
    """An alias in another block leads to names that must be asked for with a signature."""

    def answer(request: Request) -> Reply:
        owner = request.query.qname
        alias = owner.startswith((b"\x05alias", b"\x06signed"))
        return Reply(0, 0, (cname(owner, 5, names.from_text("a.b.")),)) if alias else found(request)

    text = COREFILE.replace("open.org {", "open.org {\nrewrite cname a.b. x.all.org.").replace(
        "signed.org {", "signed.org {\nrewrite cname a.b. x.all.org."
    )
    served = Serving(text, answer)
    reply = await ask(served, query("alias.open.org.", secret=None))
    assert [rrset.name.to_text() for rrset in reply.answer] == ["alias.open.org."]
    reply = await ask(served, query("signed.org."))
    assert [rrset.name.to_text() for rrset in reply.answer] == ["signed.org.", "x.all.org."]


async def test_dns64_replies_are_signed() -> None:
    served = Serving(COREFILE.replace("signed.org {", "signed.org {\ndns64 {\n allow_ipv4\n}"), found)
    served.last.answer = lambda request: found(request) if request.query.qtype == 1 else Reply(0, 0)
    reply = await ask(served, query("signed.org.", "AAAA"))
    assert (len(reply.answer), reply.had_tsig) == (1, True)
