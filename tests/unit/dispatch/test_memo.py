"""The packet memo by itself: what is kept, and what an event drops."""

from __future__ import annotations

import pytest

from waypost.dispatch.memo import Memo
from waypost.wire.record import Record
from waypost.wire.reply import Reply


def kept_for(*depends: bytes) -> Reply:
    return Reply(0, 0, depends=depends, steady=True)


@pytest.mark.parametrize("depends", [(b"a",), (b"a", b"b"), (b"a", b"b", b"a")])
def test_a_changed_key_drops_what_depends_on_it(depends: tuple[bytes, ...]) -> None:
    memo = Memo()
    memo.keep(b"one", b"answer", kept_for(*depends), ())
    memo.keep(b"two", b"answer", kept_for(b"b"), ())
    memo.changed((b"a",), 1)
    assert memo.get(b"one") is None
    assert memo.get(b"two") is not None


def test_a_key_of_many_packets_drops_them_all_and_only_once() -> None:
    memo = Memo()
    packets = [n.to_bytes(2, "big") for n in range(500)]
    for packet in packets:
        memo.keep(packet, b"answer", kept_for(b"a", b"b"), ())
    memo.changed((b"a", b"b"), 1)
    assert not any(memo.get(packet) for packet in packets)
    memo.changed((b"a", b"b"), 2)


def test_a_packet_kept_again_has_the_newer_answer() -> None:
    memo = Memo()
    memo.keep(b"one", b"old", kept_for(b"a"), ())
    memo.keep(b"one", b"new", kept_for(b"b"), ())
    memo.changed((b"a",), 1)
    kept = memo.get(b"one")
    assert kept is not None
    assert kept.answer == b"new"


def test_the_oldest_leave_when_the_bytes_are_used_up() -> None:
    memo = Memo()
    answer = b"x" * 65_000
    for n in range(200):
        memo.keep(n.to_bytes(2, "big"), answer, kept_for(b"a"), ())
    assert memo.get((0).to_bytes(2, "big")) is None
    assert memo.get((199).to_bytes(2, "big")) is not None
    memo.changed((b"a",), 1)
    assert memo.get((199).to_bytes(2, "big")) is None


def test_a_denial_is_right_for_the_version_it_was_made_at_alone() -> None:
    memo = Memo()
    soa = Record(b"\0", 6, 1, 5, b"")
    memo.keep(b"one", b"answer", Reply(3, 0, authority=(soa,), depends=(b"a",), steady=True), ())
    assert memo.get(b"one") is not None
    memo.changed((b"other",), 1)
    assert memo.get(b"one") is None
