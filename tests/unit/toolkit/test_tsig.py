import dns.message
import dns.name
import dns.rrset
import dns.tsig
import dns.tsigkeyring
import pytest
from hypothesis import given, strategies

from waypost.toolkit.tsig import BADKEY, BADSIG, BADTIME, Signature, Signer, find, verify, without
from waypost.wire import names
from waypost.wire.errors import FormErr
from waypost.wire.query import parse_query

NAME = "key.org."
SECRET = b"0123456789abcdef0123456789abcdef"
OTHER = b"another secret"
SECRETS = {names.from_text(NAME): SECRET}


def keyring(secret: bytes = SECRET, name: str = NAME) -> dict[dns.name.Name, bytes]:
    return {dns.name.from_text(name): secret}


def signed(
    secret: bytes = SECRET, name: str = NAME, algorithm: str = "hmac-sha256", edns: bool = False
) -> dns.message.Message:
    message = dns.message.make_query("a.org.", "A", use_edns=0 if edns else None)
    message.use_tsig(keyring(secret, name), dns.name.from_text(name), algorithm=dns.name.from_text(algorithm))
    return message


def found_in(wire: bytes) -> Signature:
    signature = find(wire, parse_query(wire).end)
    assert signature is not None
    return signature


def error_of(wire: bytes, later: int = 0) -> int:
    signature = found_in(wire)
    return verify(wire, signature, SECRETS, signature.rdata.time_signed + later)


@pytest.mark.parametrize(
    "algorithm",
    ["hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512", "hmac-sha256-128"],
)
@pytest.mark.parametrize("edns", [False, True])
def test_good_signatures(algorithm: str, edns: bool) -> None:
    wire = signed(algorithm=algorithm, edns=edns).to_wire()
    assert error_of(wire) == 0
    bare = dns.message.from_wire(without(wire, found_in(wire)))
    assert (bare.had_tsig, bare.edns) == (False, 0 if edns else -1)


def test_letter_case_of_the_key_does_not_count() -> None:
    assert error_of(signed(name="KEY.org.").to_wire()) == 0


@pytest.mark.parametrize(
    ("wire", "later", "error"),
    [
        (signed(OTHER).to_wire(), 0, BADSIG),
        (signed(name="other.org.").to_wire(), 0, BADKEY),
        (signed(algorithm="hmac-md5.sig-alg.reg.int").to_wire(), 0, BADKEY),
        (signed().to_wire(), 301, BADTIME),
        (signed().to_wire(), -301, BADTIME),
        (signed().to_wire(), 300, 0),
        (signed(OTHER).to_wire(), 301, BADSIG),
    ],
)
def test_bad_signatures(wire: bytes, later: int, error: int) -> None:
    assert error_of(wire, later) == error


@pytest.mark.parametrize("at", [2, 13, 20])
def test_a_changed_message(at: int) -> None:
    wire = bytearray(signed().to_wire())
    wire[at] ^= 1
    assert error_of(bytes(wire)) == BADSIG


def test_messages_without_signature() -> None:
    for edns in (None, 0):
        wire = dns.message.make_query("a.org.", "A", use_edns=edns).to_wire()
        assert find(wire, parse_query(wire).end) is None


@pytest.mark.parametrize("tail", [b"\x00", bytes(11)])
def test_a_signature_that_is_not_last(tail: bytes) -> None:
    wire = signed().to_wire() + tail
    with pytest.raises(FormErr):
        find(wire, parse_query(wire).end)
    swapped = wire[:10] + b"\x00\x02" + signed().to_wire()[12:] + b"\x00\x00\x29\x04\xd0" + bytes(6)
    with pytest.raises(FormErr):
        find(swapped, parse_query(swapped).end)


def plain_response(query: dns.message.Message) -> bytes:
    reply = dns.message.make_response(dns.message.make_query("a.org.", "A", id=query.id))
    reply.answer.append(dns.rrset.from_text("a.org.", 5, "IN", "A", "192.0.2.1"))
    return reply.to_wire()


@pytest.mark.parametrize("algorithm", ["hmac-sha256", "hmac-sha512", "hmac-sha256-128"])
def test_signed_replies(algorithm: str) -> None:
    query = signed(algorithm=algorithm)
    asked = found_in(query.to_wire())
    out = Signer(asked, SECRET, 0, lambda: asked.rdata.time_signed)(plain_response(query))
    reply = dns.message.from_wire(out, keyring=keyring(), request_mac=query.mac)
    assert reply.had_tsig
    assert len(reply.answer) == 1
    with pytest.raises(dns.tsig.BadSignature):
        dns.message.from_wire(out, keyring=keyring(OTHER), request_mac=query.mac)
    with pytest.raises(dns.tsig.BadSignature):
        dns.message.from_wire(out, keyring=keyring(), request_mac=bytes(32))


def test_several_messages_are_one_chain() -> None:
    query = signed()
    asked = found_in(query.to_wire())
    signer = Signer(asked, SECRET, 0, lambda: asked.rdata.time_signed)
    context = None
    for n in range(3):
        wire = signer(plain_response(query))
        reply = dns.message.from_wire(
            wire, keyring=keyring(), request_mac=query.mac, multi=True, tsig_ctx=context, xfr=True
        )
        assert reply.had_tsig, n
        context = reply.tsig_ctx


@pytest.mark.parametrize("error", [BADSIG, BADKEY])
def test_errors_that_cannot_be_signed(error: int) -> None:
    query = signed()
    out = Signer(found_in(query.to_wire()), b"", error, lambda: 1.0)(plain_response(query))
    reply = dns.message.from_wire(out, keyring=False)
    assert reply.tsig is not None
    assert (int(reply.tsig[0].error), reply.tsig[0].mac, reply.tsig[0].original_id) == (error, b"", query.id)


def test_a_wrong_clock_is_told_the_right_time() -> None:
    query = signed()
    asked = found_in(query.to_wire())
    out = Signer(asked, SECRET, BADTIME, lambda: 5_000_000_000.0)(plain_response(query))
    (rdata,) = dns.message.from_wire(out, keyring=False).tsig or ()
    assert int.from_bytes(rdata.other, "big") == 5_000_000_000
    assert rdata.time_signed == asked.rdata.time_signed
    with pytest.raises(dns.tsig.PeerBadTime):
        dns.message.from_wire(out, keyring=keyring(), request_mac=query.mac)


@given(strategies.binary(max_size=120), strategies.integers(0, 200), strategies.integers(0, 255))
def test_no_bytes_do_harm(tail: bytes, at: int, byte: int) -> None:
    wire = bytearray(signed().to_wire())
    wire[min(at, len(wire) - 1)] = byte
    for packet in (bytes(wire), bytes(wire[:60]) + tail, bytes(wire) + tail):
        try:
            signature = find(packet, 23)
        except FormErr:
            continue
        if signature is not None:
            assert verify(packet, signature, SECRETS, 1.0) in (0, BADSIG, BADKEY, BADTIME)
