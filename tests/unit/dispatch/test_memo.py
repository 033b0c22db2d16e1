"""The packet memo by itself: what is kept, and what an event drops."""

from __future__ import annotations

import time

import dns.message
import dns.rrset
import pytest

from waypost.dispatch.ahead import Passage
from waypost.dispatch.memo import Memo
from waypost.metrics.traffic import Again
from waypost.wire.record import Record
from waypost.wire.reply import Reply


def kept_for(*depends: bytes) -> Reply:
    return Reply(0, 0, depends=depends, steady="source")


def recalled(memo: Memo, wire: bytes, received: float) -> bytes | None:
    answer = memo.recall(wire, received, lambda number: ("192.0.2.1", 4000))
    assert not isinstance(answer, Passage)
    return answer


def is_kept(memo: Memo, packet: bytes) -> bool:
    return recalled(memo, b"id" + packet, 0.0) is not None


@pytest.mark.parametrize("depends", [(b"a",), (b"a", b"b"), (b"a", b"b", b"a")])
def test_a_changed_key_drops_what_depends_on_it(depends: tuple[bytes, ...]) -> None:
    memo = Memo()
    memo.keep(b"one", b"answer", kept_for(*depends), ())
    memo.keep(b"two", b"answer", kept_for(b"b"), ())
    memo.changed((b"a",), 1)
    assert not is_kept(memo, b"one")
    assert is_kept(memo, b"two")


def test_a_key_of_many_packets_drops_them_all_and_only_once() -> None:
    memo = Memo()
    packets = [n.to_bytes(2, "big") for n in range(500)]
    for packet in packets:
        memo.keep(packet, b"answer", kept_for(b"a", b"b"), ())
    memo.changed((b"a", b"b"), 1)
    assert not any(is_kept(memo, packet) for packet in packets)
    memo.changed((b"a", b"b"), 2)


def test_a_packet_kept_again_has_the_newer_answer() -> None:
    memo = Memo()
    memo.keep(b"one", b"old", kept_for(b"a"), ())
    memo.keep(b"one", b"new", kept_for(b"b"), ())
    memo.changed((b"a",), 1)
    assert recalled(memo, b"idone", 0.0) == b"idnew"


def test_the_oldest_leave_when_the_bytes_are_used_up() -> None:
    memo = Memo()
    answer = b"x" * 65_000
    for n in range(200):
        memo.keep(n.to_bytes(2, "big"), answer, kept_for(b"a"), ())
    assert not is_kept(memo, (0).to_bytes(2, "big"))
    assert is_kept(memo, (199).to_bytes(2, "big"))
    memo.changed((b"a",), 1)
    assert not is_kept(memo, (199).to_bytes(2, "big"))


def test_a_denial_is_right_for_the_version_it_was_made_at_alone() -> None:
    memo = Memo()
    soa = Record(b"\0", 6, 1, 5, b"")
    memo.keep(b"one", b"answer", Reply(3, 0, authority=(soa,), depends=(b"a",), steady="source"), ())
    assert is_kept(memo, b"one")
    memo.changed((b"other",), 1)
    assert not is_kept(memo, b"one")


def test_two_feeds_with_the_same_version_are_two() -> None:
    """The serial of one must not be taken for the other's, which has gone on meanwhile."""
    memo = Memo()
    soa = Record(b"\0", 6, 1, 5, b"")
    memo.changed((), 5, "one")
    memo.keep(b"one", b"answer", Reply(3, 0, authority=(soa,), depends=(b"a",), steady="source"), ())
    assert is_kept(memo, b"one")
    memo.changed((b"other",), 6, "one")
    memo.changed((b"other",), 5, "two")
    assert not is_kept(memo, b"one")


def answer_of(ttl: int, *, name: str = "a.example.") -> bytes:
    """An answer less its id: two records and an OPT."""
    message = dns.message.make_query(name, "A", use_edns=True)
    response = dns.message.make_response(message)
    response.answer.append(dns.rrset.from_text(name, ttl, "IN", "CNAME", "b.example."))
    response.answer.append(dns.rrset.from_text("b.example.", ttl, "IN", "A", "192.0.2.1"))
    return response.to_wire()[2:]


def test_a_countdown_shows_what_is_left_until_the_reply_is_no_longer_right() -> None:
    memo = Memo()
    left = [30, 30, 29, 0, -1, -1]
    memo.keep(b"one", answer_of(30), Reply(0, 0, steady="cache", countdown=lambda: left.pop(0)), ())
    for ttl in (30, 30, 29, 0):
        assert recalled(memo, b"idone", 0.0) == b"id" + answer_of(ttl)
    assert recalled(memo, b"idone", 0.0) is None
    memo.keep(b"one", answer_of(9), Reply(0, 0, steady="cache", countdown=lambda: 9), ())
    assert recalled(memo, b"idone", 0.0) == b"id" + answer_of(9)
    assert len(memo) == 1


def test_a_reply_that_was_right_only_when_it_was_kept() -> None:
    memo = Memo()
    memo.keep(b"one", answer_of(30), Reply(0, 0, steady="cache", countdown=lambda: -1), ())
    assert recalled(memo, b"idone", 0.0) is None


def test_what_was_answered_again_is_counted_when_asked_and_before_it_is_forgotten() -> None:
    counted: list[tuple[int, int]] = []

    def repeat(again: Again) -> None:
        counted.append((again.times, len(again.slow)))

    memo = Memo()
    for packet in (b"one", b"two"):
        memo.keep(packet, b"answer", kept_for(b"a"), (repeat,))
    now = time.perf_counter()
    for packet, received in ((b"one", now), (b"two", now - 1), (b"two", now - 2)):
        recalled(memo, b"id" + packet, received)
    memo.fold()
    memo.fold()
    assert counted == [(3, 2)]
    recalled(memo, b"idone", now + 60)
    memo.changed((b"a",), 1)
    assert counted == [(3, 2), (1, 0)]
    memo.keep(b"one", b"answer", kept_for(b"a"), (repeat,))
    recalled(memo, b"idone", now + 60)
    memo.changed(None, 2)
    assert counted == [(3, 2), (1, 0), (1, 0)]


def test_slow_ones_are_counted_before_they_are_too_many() -> None:
    counted: list[int] = []
    memo = Memo()
    memo.keep(b"one", b"answer", kept_for(b"a"), (lambda again: counted.append(len(again.slow)),))
    for _ in range(2500):
        recalled(memo, b"idone", time.perf_counter() - 1)
    assert counted == [1024, 1024]
