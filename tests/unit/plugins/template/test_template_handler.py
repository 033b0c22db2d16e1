import pytest

from support.asking import Block, block, summary, texts
from support.chain import FakeProcess, make_request
from waypost.dispatch.handler import settled
from waypost.dispatch.request import Request
from waypost.dispatch.trace import Trace
from waypost.plugins.template.setup import setup
from waypost.wire import consts, names
from waypost.wire.record import address
from waypost.wire.reply import Reply

SERVFAIL = ("SERVFAIL", "QR RD", [], [], [])
NEXT = Reply(consts.NXDOMAIN, consts.RA)


def template(text: str, *labels: str, reply: Reply | None = None, process: FakeProcess | None = None) -> Block:
    return block(setup, text, *labels, reply=reply, process=process)


async def test_every_section_is_filled_from_its_templates() -> None:
    served = template("""template IN MX a.org {
        answer "{{ .Name }} 60 IN MX 10 mail.{{ .Zone }}" "{{ .Name }} 60 IN MX 20 mail2.{{ .Zone }}"
        authority "{{ .Zone }} 60 IN NS ns.{{ .Zone }}"
        additional "mail.{{ .Zone }} 60 IN A 192.0.2.25"
    }""")
    assert summary(await served.ask("X.a.org.", "MX")) == (
        "NOERROR",
        "QR AA RD",
        ["x.a.org. 60 MX 10 mail.a.org.", "x.a.org. 60 MX 20 mail2.a.org."],
        ["a.org. 60 NS ns.a.org."],
        ["mail.a.org. 60 A 192.0.2.25"],
    )


@pytest.mark.parametrize(
    ("template_text", "expected"),
    [
        ("zone={{ .Zone }} class={{ .Class }} type={{ .Type }}", "zone=a.org. class=IN type=TXT"),
        ("{{ .Name }} {{ .Question.Name }}", "www-7.a.org. WWW-7.a.org."),
        ("{{ .Question.Qtype }}|{{ .Message.RecursionDesired }}|{{ .Message.CheckingDisabled }}", "16|true|false"),
        ("{{ .Question }}", ";WWW-7.a.org.\\009IN\\009 TXT"),
        ("{{ len .Message.Question }}{{ .Message.Id }}", None),
        ("{{ .Remote }}", "192.0.2.9"),
        ("{{ .Group.n }} {{ index .Match 1 }} {{ index .Group `1` }} {{ .Group.none }}", "7 7 7 <no value>"),
        ("{{ parseInt .Group.n 16 8 }}", "7"),
        ("[{{ .Meta `no/such` }}][{{ .Meta `a/b` }}]", "[][value]"),
        ("{{ .Regex }}", "^www-(?P<n>[0-9]+)"),
        ("{{ .Var.x }}", "<no value>"),
    ],
)
async def test_what_templates_can_tell(template_text: str, expected: str | None) -> None:
    served = template(f"""template IN TXT a.org {{
        match ^www-(?P<n>[0-9]+)
        answer "{{{{ .Name }}}} 0 IN TXT \\"{template_text}\\""
    }}""")
    request = make_request("WWW-7.a.org.", "TXT", site=served.site)
    request.metadata = {"a/b": lambda: "value"}
    assert served.site.chain is not None
    (record,) = (await settled(served.site.chain.serve(request))).answer
    text = record.rdata[1:].decode()
    if expected is None:
        assert text == f"1{request.query.id}"
    else:
        assert text == expected.replace("\\009", "\t")


async def test_zone_class_and_type_choose_the_rule() -> None:
    served = template(
        """template IN A a.org {
            answer "{{ .Name }} 1 IN A 192.0.2.1"
        }
        template IN ANY a.org {
            answer "{{ .Name }} 2 IN TXT {{ .Type }}"
        }
        template IN A b.org {
            answer "{{ .Name }} 3 IN A 192.0.2.3"
        }""",
        reply=NEXT,
    )
    assert texts((await served.ask("a.org.")).answer) == ["a.org. 1 A 192.0.2.1"]
    assert texts((await served.ask("a.org.", "MX")).answer) == ['a.org. 2 TXT "MX"']
    assert texts((await served.ask("a.org.", "ANY")).answer) == ["a.org. 1 A 192.0.2.1"]
    assert texts((await served.ask("b.org.")).answer) == ["b.org. 3 A 192.0.2.3"]
    assert await served.reply("b.org.", "MX") is NEXT
    assert await served.reply("c.org.") is NEXT
    assert await served.reply("a.org.", "A", qclass="CH") is NEXT


async def test_a_name_that_no_pattern_matches_fails_or_falls_through() -> None:
    text = 'template IN A a.org {{\n match ^x\n answer "{{{{ .Name }}}} 1 IN A 192.0.2.1"\n {} \n}}'
    assert summary(await template(text.format(""), reply=NEXT).ask("a.org.")) == SERVFAIL
    served = template(text.format("fallthrough b.a.org"), reply=NEXT)
    assert summary(await served.ask("a.org.")) == SERVFAIL
    assert await served.reply("c.b.a.org.") is NEXT
    assert texts((await served.ask("x.a.org.")).answer) == ["x.a.org. 1 A 192.0.2.1"]


async def test_rcodes() -> None:
    served = template("""template IN ANY nx.org {
            rcode NXDOMAIN
            authority "nx.org 60 IN SOA ns.nx.org h.nx.org (1 60 60 60 60)"
        }
        template IN ANY refused.org {
            rcode REFUSED
        }
        template IN ANY fail.org {
            rcode SERVFAIL
            answer "{{ .Name }} 60 IN A 192.0.2.1"
        }""")
    soa = "nx.org. 60 SOA ns.nx.org. h.nx.org. 1 60 60 60 60"
    assert summary(await served.ask("a.nx.org.")) == ("NXDOMAIN", "QR AA RD", [], [soa], [])
    assert summary(await served.ask("refused.org.")) == ("REFUSED", "QR AA RD", [], [], [])
    assert summary(await served.ask("fail.org.")) == SERVFAIL
    assert not (await served.reply("fail.org.")).written


async def test_an_extended_error_makes_an_opt_even_without_edns() -> None:
    served = template("""template ANY ANY {
        rcode NXDOMAIN
        ederror 21 "Blocked"
    }""")
    reply = await served.ask("a.org.")
    assert (reply.payload, reply.ednsflags, [option.to_text() for option in reply.options]) == (
        4096,
        0x8000,
        ["EDE 21 (Not Supported): Blocked"],
    )
    assert (await served.ask("a.org.", bufsize=1232)).payload == 1232


@pytest.mark.parametrize(
    ("answer", "error", "metric"),
    [
        ("{{ .Nothing }} 60 IN A 192.0.2.1",
         ('template: answer:1:3: executing "answer" at <.Nothing>: '
          "can't evaluate field Nothing in type *template.templateData"), "coredns_template_template_failures_total"),
        ("{{ parseInt .Name 10 8 }}",
         ('template: answer:1:3: executing "answer" at <parseInt .Name 10 8>: error calling parseInt: '
          'strconv.ParseUint: parsing "x.org.": invalid syntax'), "coredns_template_template_failures_total"),
        ("this is not a record", "dns: neither TTL, class nor type: 'is'", "coredns_template_rr_failures_total"),
    ],
)  # fmt: skip
async def test_a_bad_template_or_record_fails_and_is_counted(answer: str, error: str, metric: str) -> None:
    process = FakeProcess()
    served = template(f'template IN A {{\n answer "{answer}"\n}}', process=process)
    reply = await served.reply("x.org.")
    assert (reply.rcode, reply.written, reply.error) == (consts.SERVFAIL, False, error)
    (labels,) = process.metrics.families[metric].cells
    assert labels == ("dns://:53", ".", "", "IN", "A", "answer", answer)


async def test_matches_are_counted_and_unknown_types_share_a_cell() -> None:
    process = FakeProcess()
    served = template("template IN ANY a.org", process=process)
    for qtype in ("A", "TYPE65281", "TYPE65282"):
        await served.reply("a.org.", qtype)
    cells = process.metrics.families["coredns_template_matches_total"].cells
    assert {labels[-1]: cell.value for labels, cell in cells.items()} == {"A": 1, "": 2}


async def test_a_template_that_renders_nothing_adds_no_record() -> None:
    served = template('template IN A {\n answer "{{ if eq .Name `a.org.` }}{{ .Name }} 1 IN A 192.0.2.1{{ end }}"\n}')
    assert texts((await served.ask("a.org.")).answer) == ["a.org. 1 A 192.0.2.1"]
    assert summary(await served.ask("b.org.")) == ("NOERROR", "QR AA RD", [], [], [])


class Lookups:
    """Stands for the server that CNAME targets are asked from."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, later: bool) -> None:
        self.asked: list[tuple[str, int]] = []
        self.later = later
        monkeypatch.setattr(Request, "lookup", lambda request, qname, qtype: self.look_up(qname, qtype))

    def look_up(self, qname: bytes, qtype: int):
        self.asked.append((names.to_text(qname), qtype))
        reply = Reply(
            consts.NOERROR, consts.TC if qname.startswith(b"\x01u") else 0, (address(qname, 5, b"\x7f\0\0\1"),)
        )
        return self.wait(reply) if self.later else reply

    async def wait(self, reply: Reply) -> Reply:
        return reply


ALIAS = """template IN ANY {
    answer "{{ .Name }} 60 IN CNAME t.org." "other.org. 60 IN CNAME u.org." "end.org. 60 IN A 192.0.2.1"
}"""


@pytest.mark.parametrize("later", [False, True])
async def test_cnames_are_followed_in_their_place(monkeypatch: pytest.MonkeyPatch, later: bool) -> None:
    lookups = Lookups(monkeypatch, later=later)
    reply = await template(ALIAS).reply("a.org.")
    assert [names.to_text(record.owner) for record in reply.answer] == [
        "a.org.", "t.org.", "other.org.", "u.org.", "end.org.",
    ]  # fmt: skip
    assert lookups.asked == [("t.org.", 1), ("u.org.", 1)]
    assert reply.flags & consts.TC


async def test_cnames_are_followed_for_addresses_only(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = Lookups(monkeypatch, later=False)
    for qtype in ("CNAME", "TXT", "MX", "ANY"):
        assert len((await template(ALIAS).reply("a.org.", qtype)).answer) == 3
    assert lookups.asked == []


async def test_a_query_cannot_write_into_its_record() -> None:
    served = template("""template IN TXT a.org {
        match "^(?P<x>.*)\\.a\\.org\\.$"
        answer "{{ .Name }} 0 IN TXT \\"{{ .Group.x }}\\""
    }""")
    reply = await served.ask('\\"\\032\\"evil\\;\\010.a.org.', "TXT")
    (answer,) = reply.answer
    (rdata,) = answer
    assert len(rdata.strings) == 1


async def test_explaining_says_which_pattern_matched() -> None:
    served = template("template IN A a.org {\n match ^a\n}")
    request = make_request("a.org.", site=served.site)
    request.trace = Trace()
    assert served.site.chain is not None
    served.site.chain.serve(request)
    assert [note.text for note in request.trace.notes] == ["the name matches ^a"]
