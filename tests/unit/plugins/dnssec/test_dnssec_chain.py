"""What leaves a block with dnssec: every signature is verified by dnspython with the DNSKEY records that we serve."""

from __future__ import annotations

from pathlib import Path

import dns.dnssec
import dns.message
import dns.name
import dns.rdatatype
import dns.rrset
import pytest
from dns.dnssectypes import Algorithm

from support.chain import make_wire
from support.dnssec_keys import CSK, ZSK, write_pair
from support.serving import Serving
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Request
from waypost.toolkit import extras
from waypost.wire import consts, names
from waypost.wire.record import Record, Records, address, cname, ns, soa
from waypost.wire.reply import DROP, Reply, failure

ZONE = names.from_text("example.org.")
WWW = names.from_text("www.example.org.")
SUB = names.from_text("sub.example.org.")
ALIAS = names.from_text("alias.example.org.")
ELSEWHERE = names.from_text("www.example.net.")
SOA = soa(ZONE, 300, ZONE, ZONE, 1, (2, 3, 4, 5))
A = (address(WWW, 600, b"\1\2\3\4"), address(WWW, 600, b"\1\2\3\5"))
NS = ns(SUB, 500, SUB)
DS = Record(SUB, consts.TYPE_DS, 1, 500, b"\0\1\x0d\2" + bytes(32))


def serving(folder: Path, reply: Reply, text: str = "key file K", zones: str = "") -> Serving:
    return Serving(f"example.org {{\nroot {folder}\ndnssec {zones} {{\n{text}\n}}\n}}", lambda request: reply)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    write_pair(tmp_path)
    return tmp_path


async def verify(served: Serving, message: dns.message.Message, zone: str = "example.org.") -> set[tuple[str, str]]:
    """Verify every signature; gives what is signed, as owner and type."""
    origin = dns.name.from_text(zone)
    dnskeys = (await served.ask(zone, "DNSKEY")).answer[0]
    signed = set()
    for section in message.sections[1:]:
        for sigs in section:
            if sigs.rdtype == dns.rdatatype.RRSIG:
                rrset = next(rrset for rrset in section if rrset.name == sigs.name and rrset.rdtype == sigs.covers)
                dns.dnssec.validate(rrset, sigs, {origin: dnskeys})
                signed.add((rrset.name.to_text(), dns.rdatatype.to_text(rrset.rdtype)))
    return signed


@pytest.mark.parametrize("algorithm", [Algorithm.ECDSAP256SHA256, Algorithm.ED25519, Algorithm.RSASHA256])
async def test_an_answer_is_signed(tmp_path: Path, algorithm: Algorithm) -> None:
    write_pair(tmp_path, algorithm=algorithm)
    served = serving(tmp_path, Reply(0, consts.AA, A, additional=(address(SUB, 60, bytes(16)),)))
    message = await served.ask("WWW.example.org.", do=True, bufsize=4096)
    expected = {("www.example.org.", "A"), ("sub.example.org.", "AAAA")}
    assert await verify(served, message) == expected


async def test_nothing_is_signed_for_those_that_do_not_ask(keys: Path) -> None:
    message = await serving(keys, Reply(0, consts.AA, A)).ask("www.example.org.")
    assert [rrset.rdtype for rrset in message.answer] == [dns.rdatatype.A]


async def test_the_keys_are_served_and_signed(keys: Path) -> None:
    served = serving(keys, failure(consts.SERVFAIL))
    assert await verify(served, await served.ask("Example.org.", "DNSKEY", do=True)) == {("example.org.", "DNSKEY")}
    assert served.last.seen == []


@pytest.mark.parametrize(
    ("rcode", "answer", "denied"),
    [
        (consts.NXDOMAIN, (), "no.example.org."),
        (consts.NOERROR, (), "no.example.org."),
        (consts.NXDOMAIN, (cname(names.from_text("no.example.org."), 9, WWW),), "www.example.org."),
        (consts.NOERROR, (cname(names.from_text("no.example.org."), 9, WWW),), "www.example.org."),
    ],
    ids=["name", "type", "target", "type-of-target"],
)
async def test_a_denial_has_an_nsec_of_the_very_name(keys: Path, rcode: int, answer: Records, denied: str) -> None:
    served = serving(keys, Reply(rcode, consts.AA, answer, (SOA,)))
    message = await served.ask("No.example.org.", "AAAA", do=True)
    assert message.rcode() == consts.NOERROR
    assert await verify(served, message) >= {(denied, "NSEC"), ("example.org.", "SOA")}
    (record,) = next(rrset for rrset in message.authority if rrset.rdtype == dns.rdatatype.NSEC)
    assert "AAAA" not in record.to_text().split()


async def test_a_denial_asked_for_is_the_answer(keys: Path) -> None:
    served = serving(keys, Reply(0, consts.AA, authority=(SOA,)))
    message = await served.ask("no.example.org.", "NSEC", do=True)
    assert await verify(served, message) == {("no.example.org.", "NSEC")}
    assert [rrset.rdtype for rrset in message.answer] == [dns.rdatatype.NSEC, dns.rdatatype.RRSIG]
    assert message.authority == []


@pytest.mark.parametrize(
    ("authority", "signed"),
    [((NS,), {("sub.example.org.", "NSEC")}), ((NS, DS), {("sub.example.org.", "DS")})],
    ids=["insecure", "secure"],
)
async def test_a_referral(keys: Path, authority: Records, signed: set[tuple[str, str]]) -> None:
    served = serving(keys, Reply(0, 0, authority=authority, additional=(address(SUB, 60, bytes(4)),)))
    assert await verify(served, await served.ask("sub.example.org.", do=True)) == signed


async def test_what_is_not_of_the_zone_is_not_signed(keys: Path) -> None:
    other = soa(names.from_text("example.net."), 300, ZONE, ZONE, 1, (2, 3, 4, 5))
    served = serving(keys, Reply(consts.NXDOMAIN, consts.AA, (cname(ALIAS, 9, ELSEWHERE),), (other,)))
    message = await served.ask("alias.example.org.", do=True)
    assert message.rcode() == consts.NXDOMAIN
    assert await verify(served, message) == {("alias.example.org.", "CNAME")}


RRSIG = Record(WWW, consts.TYPE_RRSIG, 1, 600, bytes(18) + ZONE + b"x")


@pytest.mark.parametrize(
    ("reply", "rcode"),
    [
        (Reply(0, consts.AA, (*A, RRSIG)), consts.NOERROR),
        (Reply(consts.REFUSED, 0, authority=(SOA,)), consts.REFUSED),
        (failure(consts.SERVFAIL), consts.SERVFAIL),
        (Reply(0, consts.AA), consts.NOERROR),
    ],
    ids=["signed", "refused", "failed", "empty"],
)
async def test_what_is_left_alone(keys: Path, reply: Reply, rcode: int) -> None:
    message = await serving(keys, reply).ask("www.example.org.", do=True)
    assert message.rcode() == rcode
    count = sum(len(rrset) for section in message.sections[1:] for rrset in section)
    assert count == len(reply.answer) + len(reply.authority)


async def test_silence_stays_silence(keys: Path) -> None:
    served = serving(keys, DROP)
    assert await served.send(make_wire("www.example.org.", do=True)) is None


async def test_ksk_and_zsk_share_the_work(tmp_path: Path) -> None:
    ksk = dns.dnssec.key_id(write_pair(tmp_path, "K", flags=CSK))
    zsk = dns.dnssec.key_id(write_pair(tmp_path, "Z", flags=ZSK))
    served = serving(tmp_path, Reply(0, consts.AA, A), "key file K.key Z.private")
    for name, qtype, expected in (("example.org.", "DNSKEY", ksk), ("www.example.org.", "A", zsk)):
        message = await served.ask(name, qtype, do=True, bufsize=4096)
        assert [sig.key_tag for sig in message.answer[1]] == [expected]
        await verify(served, message)


async def test_signatures_are_kept_and_renewed_before_they_end(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    day = 86400
    now = [1_700_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    served = serving(keys, Reply(0, consts.AA, A))

    async def expiration() -> int:
        message = await served.ask("www.example.org.", do=True, bufsize=4096)
        (sig,) = message.answer[1]
        assert sig.inception < now[0] < sig.expiration
        return int(sig.expiration)

    first = await expiration()
    assert first == now[0] + 8 * day
    now[0] += 6 * day - 1
    assert await expiration() == first
    now[0] += 2
    assert await expiration() == now[0] // 1 + 8 * day
    assert served.counted("coredns_dnssec_cache_hits_total") == {("dns://:53",): 1}
    assert served.counted("coredns_dnssec_cache_misses_total") == {("dns://:53",): 2}
    assert served.counted("coredns_dnssec_cache_entries") == {("dns://:53", "signature"): 1}


async def test_the_signatures_kept_are_bounded(keys: Path) -> None:
    def answer(request: Request) -> Reply:
        return Reply(0, consts.AA, (address(request.query.qname, 60, bytes(4)),))

    served = serving(keys, DROP, "key file K\ncache_capacity 10")
    served.last.answer = answer
    for n in range(30):
        await served.ask(f"n{n}.example.org.", do=True)
    assert served.counted("coredns_dnssec_cache_entries") == {("dns://:53", "signature"): 10}


async def test_other_zones_pass(keys: Path) -> None:
    served = serving(keys, Reply(0, consts.AA, A), zones="www.example.org example.org")
    message = await served.ask("www.example.org.", do=True, bufsize=4096)
    assert await verify(served, message, "www.example.org.") == {("www.example.org.", "A")}
    unsigned = serving(keys, Reply(0, consts.AA, A), zones="deep.example.org example.org")
    unsigned.last.answer = lambda request: Reply(0, consts.AA, (address(request.query.qname, 60, bytes(4)),))
    message = await unsigned.ask("deep.example.org.", do=True, bufsize=4096)
    assert await verify(unsigned, message, "deep.example.org.") == {("deep.example.org.", "A")}


def test_without_a_key_nothing_is_signed_and_a_line_says_so(tmp_path: Path) -> None:
    served = serving(tmp_path, failure(consts.SERVFAIL), "cache_capacity 5")
    assert served.process.lines == ["[WARNING] plugin/dnssec: no key is given: nothing is signed"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("key", "Wrong argument count or unexpected line ending after 'key'"),
        ("key file", "Wrong argument count or unexpected line ending after 'file'"),
        ("key foo x", "unknown property 'x'"),
        ("key aws_secretsmanager x", "keys from AWS Secrets Manager are not supported"),
        ("cache_capacity", "Wrong argument count or unexpected line ending after 'cache_capacity'"),
        ("cache_capacity x", 'strconv.Atoi: parsing "x": invalid syntax'),
        ("cache_capacity 0", "cache_capacity must be at least 1, got 0"),
        ("foo", "unknown property 'foo'"),
        ("key file none", "none.key: no such file or directory"),
        ("key file other", r'key "example.net." \(keyid: \d+\) can not sign any of the zones'),
        ("key file K\n}\ndnssec {\nkey file bad", "bad.key: expected a DNSKEY record"),
    ],
)
def test_what_is_refused(keys: Path, text: str, error: str) -> None:
    write_pair(keys, "other", "example.net.")
    (keys / "bad.key").write_text("")
    with pytest.raises(CorefileError, match=error):
        serving(keys, DROP, text)


def test_without_cryptography_it_says_what_to_install(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(CorefileError, match=r"pip install 'waypost\[dnssec\]'"):
        serving(keys, DROP)
