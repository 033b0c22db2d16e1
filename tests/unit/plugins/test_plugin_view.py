import pytest

from support.chain import make_directive
from support.serving import Serving
from waypost.corefile.errors import CorefileError
from waypost.dispatch.request import Address, Request
from waypost.plugins.view import parse
from waypost.wire import consts, names
from waypost.wire.record import txt
from waypost.wire.reply import Reply


def site_name(request: Request) -> Reply:
    assert request.site is not None
    return Reply(0, consts.AA, (txt(request.query.qname, 5, request.site.view.encode() or b"-"),))


async def chosen(served: Serving, name: str = "a.org.", qtype: str = "A", client: Address = ("10.0.0.1", 7)) -> str:
    message = await served.ask(name, qtype, client=client)
    return message.answer[0][0].to_text().strip('"') if message.answer else str(message.rcode())


@pytest.mark.parametrize(
    ("expression", "passes"),
    [
        ("bufsize() == 1400", True),
        ("class() == 'IN'", True),
        ("client_ip() == '10.0.0.1' and port() == '7'", True),
        ("do()", False),
        ("id() >= 0", True),
        ("name() == 'a.org.'", True),
        ("opcode() == 0", True),
        ("proto() == 'udp'", True),
        ("server_ip() == '::'", True),
        ("server_port() == '53'", True),
        ("size() == 34", True),
        ("type() in ['A', 'AAAA']", True),
        ("metadata('no/label') == ''", True),
        ("metadata('view/name') == 'inner'", True),
        ("incidr(client_ip(), '10.0.0.0/8')", True),
        ("incidr(client_ip(), '11.0.0.0/8')", False),
        ("incidr(client_ip(), '::/0')", False),
        ("incidr(client_ip(), '10.0.0.0')", False),
        ("incidr('x', '10.0.0.0/8') || true", False),
        ("type()", False),
        ("let n = name(); n startsWith 'a' && !(n contains 'b')", True),
    ],
)
async def test_expressions(expression: str, passes: bool) -> None:
    served = Serving(f". {{\nmetadata\nview inner {{\n expr {expression}\n}}\n}}", site_name)
    message = await served.ask("A.org.", client=("10.0.0.1", 7), bufsize=1400)
    assert (message.rcode() == 0) is passes


async def test_the_first_block_that_passes_answers() -> None:
    served = Serving(
        """org {
            view v4 {
                expr incidr(client_ip(), '10.0.0.0/8')
                expr type() != 'MX'
            }
        }
        org {
        }
        org {
            view late {
                expr true
            }
        }
        . {
            view root {
                expr name() == 'a.net.'
            }
        }""",
        site_name,
    )
    assert await chosen(served) == "v4"
    assert await chosen(served, qtype="MX") == "-"
    assert await chosen(served, client=("11.0.0.1", 7)) == "-"
    assert await chosen(served, "a.net.") == "root"
    assert await chosen(served, "b.net.") == str(consts.REFUSED)


async def test_blocks_of_one_zone_without_expressions() -> None:
    served = Serving("org {\nview a {\n}\n}\norg {\nview b {\n}\n}", site_name)
    assert await chosen(served) == "a"


async def test_the_walk_goes_on_to_shorter_zones() -> None:
    served = Serving("a.org {\nview no {\n expr false\n}\n}\norg {\n}", site_name)
    assert await chosen(served) == "-"


async def test_metadata_says_the_view() -> None:
    served = Serving(". {\nmetadata\nview inner {\n}\n}", site_name)
    await chosen(served)
    (request,) = served.last.seen
    assert request.metadata is not None
    assert request.metadata["view/name"]() == "inner"
    assert request.name == names.from_text("a.org.")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("view", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'view'"),
        ("view a b", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after 'b'"),
        ("view a {\n foo\n}", "Corefile:3 - Error during parsing: unknown property 'foo'"),
        ("view a\nview b", "this plugin can only be used once per Server Block"),
        ("view a {\n expr\n}", "unexpected token EOF"),
        ("view a {\n expr (((\n}", "unexpected token EOF (1:3)\n | (((\n | ..^"),
        ("view a {\n expr foo()\n}", "unknown name foo (1:1)\n | foo()\n | ^"),
    ],
)
def test_what_is_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(text))
    assert str(caught.value) == error


def test_an_expression_that_is_never_true_is_a_warning() -> None:
    served = Serving(". {\nview a {\n expr name()\n}\n}", site_name)
    expected = "[WARNING] plugin/view: expression is string, not bool, so it is never true: name()"
    assert served.process.lines == [expected]
