"""`POST /explain` of the admin endpoint: which server answers, as which client, and which requests are refused."""

from __future__ import annotations

import inspect
import json
from base64 import b64decode
from typing import Any

import dns.message
import pytest

from support.chain import FakeProcess
from support.corefiles import DictReader
from waypost.control.build import build
from waypost.corefile.parser import parse
from waypost.httpd.message import HttpRequest, HttpResponse
from waypost.httpd.server import HttpServer
from waypost.plugins.order import ORDER

COREFILE = """\
tls://example.org {
    whoami
}
.:1053 {
    waypost {
        admin 127.0.0.1:0
    }
    acl {
        drop net 10.9.0.0/16
    }
    whoami
}
"""


async def posted(query: str, corefile: str = COREFILE, method: str = "POST") -> HttpResponse:
    """The answer of a configuration that is live."""
    process = FakeProcess()
    services = process.services()
    build(parse(corefile, "Corefile", env={}, known=ORDER, read=DictReader()), "53", services)
    for hook in services.hooks.active:
        hook()
    (server,) = (each for each in process.lender.lent.values() if isinstance(each, HttpServer))
    answer = server.routes["/explain"](HttpRequest(method, "/explain", query, {}))
    return await answer if inspect.isawaitable(answer) else answer


async def value(query: str) -> Any:
    answer = await posted(query)
    assert (answer.status, answer.content_type) == (200, "application/json"), answer
    return json.loads(answer.body)


async def test_the_plain_listener_is_asked() -> None:
    told = await value("name=www.example.org")
    assert (told["server"], told["block"]) == ("dns://:1053", ".:1053")
    assert [note["plugin"] for note in told["notes"]] == ["server", "acl", "whoami"]
    message = dns.message.from_wire(b64decode(told["message"]))
    assert message.question[0].to_text() == "www.example.org. IN A"
    assert next(rrset.to_text() for rrset in message.additional) == "www.example.org. 0 IN A 127.0.0.1"


async def test_the_client_counts() -> None:
    assert (await value("name=a.org&client=10.9.0.1"))["message"] is None
    told = await value("name=a.org&client=fd00::1&type=aaaa&transport=tcp")
    message = dns.message.from_wire(b64decode(told["message"]))
    assert message.question[0].to_text() == "a.org. IN AAAA"
    assert next(rrset.to_text() for rrset in message.additional) == "a.org. 0 IN AAAA fd00::1"
    assert "_tcp.a.org." in message.additional[1].to_text()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("", "expected name"),
        ("name=a..b", "name 'a..b' is no domain name: empty label"),
        ("name=a&type=NONSENSE", "type 'NONSENSE' is not known"),
        ("name=a&client=nobody", "client 'nobody' is no IP address"),
        ("name=a&transport=quic", "transport 'quic', expected udp or tcp"),
        ("name=a&offline=maybe", "offline 'maybe', expected false or true"),
        ("name=a&more=1", "unknown parameter 'more', expected name or type or client or transport or offline"),
    ],
)
async def test_refused(query: str, text: str) -> None:
    answer = await posted(query)
    assert (answer.status, answer.body.decode()) == (400, f"{text}\n")


async def test_only_by_post() -> None:
    """It may fill caches and ask upstreams: no link in a page may do that."""
    assert (await posted("name=a", method="GET")).status == 405


async def test_without_plain_dns() -> None:
    answer = await posted("name=a", "tls://. {\n    waypost {\n        admin 127.0.0.1:0\n    }\n    whoami\n}\n")
    assert (answer.status, answer.body) == (404, b"no server block serves plain DNS\n")
