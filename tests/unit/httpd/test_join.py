"""Where several processes answer, one listens and asks them."""

from __future__ import annotations

import io
from collections.abc import Sequence

from waypost.httpd.join import ALL_WELL, FIRST, Joint
from waypost.httpd.message import HttpRequest, HttpResponse, plain
from waypost.httpd.server import HttpServer
from waypost.log import Log

REQUEST = HttpRequest("GET", "/health", "", {})


def test_the_worst_and_the_only() -> None:
    responses = [plain(200, "a"), plain(503, "b"), plain(200, "c"), plain(503, "d")]
    assert ALL_WELL.join(REQUEST, responses).body == b"b"
    assert ALL_WELL.join(REQUEST, responses[:1]).body == b"a"
    assert FIRST.join(REQUEST, responses[:1]).body == b"a"


class Several:
    """An HTTP server above two processes."""

    def __init__(self) -> None:
        self.server = HttpServer("127.0.0.1:0", Log(io.StringIO()))
        self.server.ask_all = self.ask
        self.asked: list[tuple[str, str]] = []

    async def ask(self, address: str, request: HttpRequest, joint: Joint) -> Sequence[HttpResponse]:
        self.asked.append((address, request.path))
        return [plain(200, "one"), plain(503, "two")]


async def test_a_route_with_a_joint_is_asked_of_all() -> None:
    several = Several()
    several.server.set_route("/health", lambda request: plain(200, "own"), ALL_WELL)
    assert (await several.server.answer(REQUEST)).body == b"two"
    assert several.asked == [("127.0.0.1:0", "/health")]


async def test_a_route_without_is_answered_here() -> None:
    several = Several()
    several.server.set_route("/health", lambda request: plain(200, "two"), ALL_WELL)
    several.server.set_route("/health", lambda request: plain(200, "own"))
    assert (await several.server.answer(REQUEST)).body == b"own"
    assert several.asked == []


async def test_one_that_is_asked_by_another_never_listens_nor_asks() -> None:
    several = Several()
    several.server.stay_silent()
    several.server.set_route("/health", lambda request: plain(200, "own"), ALL_WELL)
    await several.server.start()
    assert several.server.port == 0
    assert (await several.server.answer(REQUEST)).body == b"own"
    await several.server.close()
