"""Log formats filled in: each placeholder, the text between them, and what hostile names and values look like."""

from __future__ import annotations

import dns.edns
import pytest

from support.chain import make_request, make_wire
from waypost.dispatch.request import Address, Request
from waypost.toolkit.replacer import compile_format
from waypost.wire import consts
from waypost.wire.edns import Opt, Option
from waypost.wire.names import from_text
from waypost.wire.record import address, txt
from waypost.wire.reply import DROP, Reply, authoritative, failure

NAME = from_text("www.example.org.")


def answer(request: Request) -> Reply:
    return authoritative(request.query, (address(request.query.qname, 60, b"\x01\x02\x03\x04"),))


def filled(template: str, request: Request, reply: Reply | None = None) -> str:
    return compile_format(template)(request, reply or answer(request), 0.000142282)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{type} {class} {name}", "A IN www.example.org."),
        ("{proto} {remote} {port} {local}", "udp 192.0.2.9 40000 [::]"),
        ("{size} {>bufsize} {>do} {>opcode}", "33 512 false 0"),
        ("{rcode} {>rflags} {rsize}", "NOERROR qr,aa,rd 64"),
        ("{duration}", "0.000142282s"),
        ("{/a/b}{/}", "--"),
        ("plain", "plain"),
        ("", ""),
        ("{unknown} }{ {", "{unknown} }{ {"),
        ("{ {type} }", "{ A }"),
        ("{{type}}", "{A}"),
        ("100%s %d {type} %", "100%s %d A %"),
        ("{unknown}{type}{}", "{unknown}A{}"),
    ],
)
def test_placeholders(template: str, expected: str) -> None:
    assert filled(template, make_request("WWW.example.org.")) == expected


def test_common_and_combined() -> None:
    request = make_request("www.example.org.")
    question = '"A IN www.example.org. udp 33 false 512"'
    common = f"192.0.2.9:40000 - {request.query.id} {question} NOERROR qr,aa,rd 64 0.000142282s"
    assert filled("C {common}", request) == f"C {common}"
    assert filled("{combined}", request) == f'{common} "0"'


def test_stream_and_ipv6() -> None:
    request = make_request(client=("fe80::1%eth0", 7, 0, 2), datagram=False, host="fd00::1")
    assert filled("{proto} {remote}:{port} {local} {>bufsize}", request) == "tcp [fe80::1]:7 [fd00::1] 65535"


def test_edns() -> None:
    assert filled("{size} {>do} {>bufsize}", make_request("www.example.org.", do=True, bufsize=1232)) == "44 true 1232"
    assert filled("{>bufsize}", make_request(bufsize=100)) == "512"


def test_size_counts_only_options_that_the_server_keeps() -> None:
    nsid, unknown = dns.edns.GenericOption(3, b""), dns.edns.GenericOption(65001, b"xyz")
    request = make_request(wire=make_wire("www.example.org.", options=(nsid, unknown)))
    assert filled("{size}", request) == str(33 + 11 + 4)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (failure(consts.SERVFAIL, "x"), "SERVFAIL qr,rd 33"),
        (failure(consts.REFUSED), "REFUSED qr,rd 33"),
        (failure(consts.NXDOMAIN), "- - 0"),
        (DROP, "- - 0"),
        (Reply(77, 0), "77 qr 33"),
        (Reply(consts.BADVERS, 0, opt=Opt(1232, options=(Option(3, b"ab"),))), "BADVERS qr 50"),
    ],
)
def test_what_the_client_gets(outcome: Reply, expected: str) -> None:
    """B132"""
    assert filled("{rcode} {>rflags} {rsize}", make_request("www.example.org."), outcome) == expected


def test_flags_of_a_reply_that_has_to_be_cut() -> None:
    """The size is taken before, the flags after; and what only needs compression is not cut."""
    request = make_request("www.example.org.")
    long = authoritative(request.query, tuple(txt(NAME, 60, bytes(100)) for _ in range(20)))
    assert filled("{>rflags} {rsize}", request, long) == f"qr,aa,tc,rd {33 + 20 * (17 + 10 + 101)}"
    tight = authoritative(request.query, tuple(address(NAME, 60, bytes(4)) for _ in range(20)))
    assert filled("{>rflags} {rsize}", request, tight) == f"qr,aa,rd {33 + 20 * (17 + 10 + 4)}"


def test_metadata() -> None:
    request = make_request()
    request.metadata = {"forward/upstream": lambda: "192.0.2.1:53", "empty/one": lambda: ""}
    assert filled("{/forward/upstream}|{/empty/one}|{/no/one}", request) == "192.0.2.1:53||-"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a\nb", "a\\nb"), ("\x1b[31m", "\\x1b[31m"), ("%s", "%s"), ("caf\u00e9", "caf\u00e9"), ("\u2028", "\\u2028")],
)
def test_metadata_stays_within_its_line(value: str, expected: str) -> None:
    request = make_request()
    request.metadata = {"a/b": lambda: value}
    assert filled("{/a/b}", request) == expected


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("%s%n", "%s%n"),
        (r"a\010\027", r"a\010\027"),
        (r"\128\255", r"\128\255"),
        (r"\"x\"", r"\"x\""),
        (r"a\.b", r"a\.b"),
    ],
)
def test_hostile_names_are_escaped(label: str, expected: str) -> None:
    """B135: a percent sign was read as a format."""
    assert filled("{name}", make_request(f"{label}.example.org.")) == f"{expected}.example.org."


def test_unknown_type_and_class() -> None:
    request = make_request(qtype="TYPE65280", qclass="CLASS7")
    assert filled("{type} {class}", request) == "TYPE65280 CLASS7"
    assert filled("{class}", make_request(qclass="ANY")) == "CLASS255"


@pytest.mark.parametrize("client", [("192.0.2.9", 40000), ("fe80::1%eth0", 40000, 0, 2), ("2001:db8::1", 1, 0, 0)])
@pytest.mark.parametrize(
    "template",
    [
        "{common}",
        "{combined}",
        "{remote}",
        "{duration} {port} {>id} {remote} {remote}",
        "100% {name} %s %d {unknown} {} {0} %%",
        "plain",
        "{/a/b} {rsize} {local}",
    ],
)
def test_more_of_the_same_is_the_same(template: str, client: Address) -> None:
    written: list[str] = []
    compiled = compile_format(template)
    first = make_request("%s.{0}.example.org.")
    compiled.again(first, answer(first), written.append)(b"\x12\x34" + first.query.wire[2:], client, 0.000142282)
    second = make_request(wire=b"\x12\x34" + first.query.wire[2:])
    second.client = client
    assert written == [compiled(second, answer(second), 0.000142282)]
