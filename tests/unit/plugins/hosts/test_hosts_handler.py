from pathlib import Path

from support.asking import Block, block, summary
from waypost.dispatch.trace import ANSWERED, Note, Trace
from waypost.plugins.hosts.setup import setup
from waypost.wire import consts
from waypost.wire.reply import Reply

SERVFAIL = ("SERVFAIL", "QR RD", [], [], [])
NODATA = ("NOERROR", "QR AA RD", [], [], [])
NEXT = Reply(consts.NXDOMAIN, consts.RA)


def hosts(tmp_path: Path, lines: str, *labels: str, file: str = "", reply: Reply | None = None) -> Block:
    path = tmp_path / "hosts"
    path.write_text(file)
    return block(setup, f"hosts {path} {{\n{lines}\n}}", *labels, reply=reply)


async def test_addresses_of_both_families_with_the_owner_in_lower_case(tmp_path: Path) -> None:
    served = hosts(tmp_path, "10.0.0.1 www.example.org\n2001:db8::1 www.example.org\nttl 60")
    reply = await served.ask("WWW.example.org.")
    assert summary(reply) == ("NOERROR", "QR AA RD", ["www.example.org. 60 A 10.0.0.1"], [], [])
    reply = await served.ask("www.example.org.", "AAAA")
    assert summary(reply)[2] == ["www.example.org. 60 AAAA 2001:db8::1"]


async def test_a_known_name_has_no_data_of_another_family_or_type(tmp_path: Path) -> None:
    """B91: another family fell through and came back as NXDOMAIN."""
    served = hosts(tmp_path, "192.0.2.5 app.example.org\nfallthrough", reply=NEXT)
    for qtype in ("AAAA", "HTTPS", "TXT", "SOA", "ANY"):
        assert summary(await served.ask("app.example.org.", qtype)) == NODATA
    assert served.following.seen == []


async def test_other_types_may_fall_through(tmp_path: Path) -> None:
    served = hosts(tmp_path, "192.0.2.5 app.example.org\nfallthrough example.org\nfallthrough_unsupported", reply=NEXT)
    assert (await served.reply("app.example.org.", "HTTPS")) is NEXT
    assert summary(await served.ask("app.example.org.", "AAAA")) == NODATA


async def test_an_unknown_name_fails_or_falls_through(tmp_path: Path) -> None:
    assert summary(await hosts(tmp_path, "", reply=NEXT).ask("a.org.")) == SERVFAIL
    served = hosts(tmp_path, "fallthrough a.org", reply=NEXT)
    assert await served.reply("x.a.org.") is NEXT
    assert summary(await served.ask("b.org.")) == SERVFAIL


async def test_names_outside_the_zones_are_the_next_plugin_s(tmp_path: Path) -> None:
    served = hosts(tmp_path, "10.0.0.1 a.org a.com", "org", reply=NEXT)
    assert await served.reply("a.com.") is NEXT
    assert summary(await served.ask("a.org."))[2] == ["a.org. 3600 A 10.0.0.1"]


async def test_pointers_do_not_depend_on_the_zones(tmp_path: Path) -> None:
    served = hosts(tmp_path, "10.0.0.1 a.org b.org\n2001:db8::2 six.org", "org", reply=NEXT)
    reply = await served.ask("1.0.0.10.IN-ADDR.arpa.", "PTR")
    assert summary(reply)[1:3] == (
        "QR AA RD",
        ["1.0.0.10.in-addr.arpa. 3600 PTR a.org.", "1.0.0.10.in-addr.arpa. 3600 PTR b.org."],
    )
    six = "2." + "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa."
    assert summary(await served.ask(six, "PTR"))[2] == [f"{six} 3600 PTR six.org."]


async def test_unknown_pointers_always_go_on(tmp_path: Path) -> None:
    served = hosts(tmp_path, "10.0.0.1 a.org", reply=NEXT)
    for name in ("2.0.0.10.in-addr.arpa.", "0.10.in-addr.arpa.", "a.org.", "."):
        assert await served.reply(name, "PTR") is NEXT


async def test_no_reverse_leaves_pointers_to_others(tmp_path: Path) -> None:
    served = hosts(tmp_path, "10.0.0.1 a.org\nno_reverse", reply=NEXT)
    assert await served.reply("1.0.0.10.in-addr.arpa.", "PTR") is NEXT


async def test_file_lines_come_before_lines_of_the_corefile(tmp_path: Path) -> None:
    served = hosts(tmp_path, "10.0.0.1 a.org", file="10.0.0.2 a.org\n")
    records = (await served.reply("a.org.")).answer
    assert [record.rdata[-1] for record in records] == [2, 1]


async def test_explaining_says_where_the_answer_is_from(tmp_path: Path) -> None:
    from support.chain import make_request

    served = hosts(tmp_path, "10.0.0.1 a.org")
    request = make_request("a.org.", site=served.site)
    request.trace = Trace()
    served.site.chain.serve(request)
    path = f"{tmp_path}/hosts"
    assert request.trace.notes == [Note("hosts", "the table has the name with 1 A records", ANSWERED, (path,))]
