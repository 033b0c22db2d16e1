import pytest

from support.asking import block, summary, texts
from support.chain import make_directive
from waypost import __version__
from waypost.corefile.errors import CorefileError
from waypost.plugins.chaos import Config, parse, setup
from waypost.wire import consts
from waypost.wire.reply import Reply

NEXT = Reply(consts.REFUSED, 0)


async def test_version() -> None:
    served = block(setup, 'chaos My-1.0 "An Author <a@example.org>"')
    for name in ("version.bind.", "VERSION.SERVER."):
        assert summary(await served.ask(name, "TXT", qclass="CH")) == (
            "NOERROR", "QR RD", [f'{name} 0 CH TXT "My-1.0"'], [], [],
        )  # fmt: skip


async def test_authors_come_without_repetitions() -> None:
    reply = await block(setup, "chaos v b a b c").ask("authors.bind.", "TXT", qclass="CH")
    assert texts(reply.answer) == [f'authors.bind. 0 CH TXT "{author}"' for author in "abc"]


async def test_the_host_s_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "node-7")
    served = block(setup, "chaos")
    for name in ("hostname.bind.", "id.server."):
        assert texts((await served.ask(name, "TXT", qclass="CH")).answer) == [f'{name} 0 CH TXT "node-7"']


@pytest.mark.parametrize(
    ("name", "qtype", "qclass"),
    [
        ("version.bind.", "TXT", "IN"),
        ("version.bind.", "A", "CH"),
        ("version.bind.", "TXT", "HS"),
        ("x.bind.", "TXT", "CH"),
    ],
)
async def test_everything_else_is_passed_on(name: str, qtype: str, qclass: str) -> None:
    assert await block(setup, "chaos", reply=NEXT).reply(name, qtype, qclass=qclass) is NEXT


async def test_texts_are_cut_to_what_a_record_holds() -> None:
    served = block(setup, f"chaos {'v' * 300} {'a' * 300}")
    for name in ("version.bind.", "authors.bind."):
        (rrset,) = (await served.ask(name, "TXT", qclass="CH")).answer
        assert len(rrset[0].strings[0]) == 255


def test_defaults_and_refusals() -> None:
    assert parse(make_directive("chaos")).version == f"Waypost-{__version__}"
    assert parse(make_directive('chaos ""')) == Config("")
    with pytest.raises(CorefileError, match="unknown property 'foo'"):
        parse(make_directive("chaos {\n foo\n}"))
