import asyncio

import pytest

from support.asking import block
from support.chain import make_directive, make_request
from waypost.corefile.errors import CorefileError
from waypost.dispatch.handler import settled
from waypost.dispatch.request import Request
from waypost.plugins.cancel import Cancel, Config, parse, setup
from waypost.wire import consts
from waypost.wire.reply import Reply

REPLY = Reply(consts.NOERROR, 0)


class Never:
    """A plugin whose answer does not come."""

    name = "never"
    next: "Never"

    def __init__(self) -> None:
        self.cancelled = False

    async def serve(self, request: Request) -> Reply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return REPLY


async def test_what_takes_too_long_is_given_up() -> None:
    cancel, never = Cancel(0.001), Never()
    cancel.next = never
    reply = await settled(cancel.serve(make_request()))
    assert (reply.rcode, reply.written, reply.error) == (consts.SERVFAIL, False, "context deadline exceeded")
    assert never.cancelled


async def test_answers_in_time_are_passed_on() -> None:
    assert await block(setup, "cancel", reply=REPLY).reply("a.org.") is REPLY


async def test_an_answer_from_memory_is_given_at_once() -> None:
    served = block(setup, "cancel")
    served.following.later = False
    assert served.site.chain is not None
    assert served.site.chain.serve(make_request()) is served.following.reply


async def test_a_timeout_of_another_s_is_not_ours() -> None:
    class Failing:
        name = "failing"

        async def serve(self, request: Request) -> Reply:
            raise TimeoutError("upstream")

    cancel = Cancel(60.0)
    cancel.next = Failing()  # type: ignore[assignment]
    with pytest.raises(TimeoutError, match="upstream"):
        await settled(cancel.serve(make_request()))


@pytest.mark.parametrize(("text", "timeout"), [("cancel", 5.001), ("cancel 1s", 1.0), ("cancel 1s\ncancel 2s", 2.0)])
def test_timeouts(text: str, timeout: float) -> None:
    assert parse(make_directive(text)) == Config(timeout)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x", 'invalid duration: "x"'),
        ("5", 'invalid duration: "5"'),
        ("0s", 'invalid negative duration: "0s"'),
        ("-1s", 'invalid negative duration: "-1s"'),
        ("1s 2s", "Corefile:2 - Error during parsing: Wrong argument count or unexpected line ending after '2s'"),
    ],
)
def test_timeouts_that_are_refused(text: str, error: str) -> None:
    with pytest.raises(CorefileError) as caught:
        parse(make_directive(f"cancel {text}"))
    assert str(caught.value) == error
