"""The order of records under each policy."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from support.caching import records, request_with
from support.chain import FakeNext, make_directive
from waypost.dispatch.handler import settled
from waypost.plugins.loadbalance.handler import LoadBalance, Policy, RoundRobin, Weighted
from waypost.plugins.loadbalance.setup import parse
from waypost.wire import addr, consts
from waypost.wire.record import Record, Records
from waypost.wire.reply import DROP, Reply, failure

FOUR = records(*(f"www.example.org. 60 IN A 192.0.2.{n}" for n in range(1, 5)))
V6 = records("www.example.org. 60 IN AAAA 2001:db8::1", "www.example.org. 60 IN AAAA 2001:db8::2")
MX = records("example.org. 60 IN MX 10 a.example.org.", "example.org. 60 IN MX 20 b.example.org.")
CNAMES = records("www.example.org. 60 IN CNAME x.example.org.", "x.example.org. 60 IN CNAME y.example.org.")
TXT = records('www.example.org. 60 IN TXT "a"', 'www.example.org. 60 IN TXT "b"')


def balanced(policy: Policy, reply: Reply, qtype: str = "A") -> Reply:
    handler = LoadBalance(policy)
    handler.next = FakeNext(reply)
    outcome = handler.serve(request_with(qtype=qtype))
    assert isinstance(outcome, Reply)
    return outcome


def round_robin(seed: int = 1, preferred: str = "") -> RoundRobin:
    config = parse(make_directive(f"loadbalance {{\nprefer {preferred}\n}}" if preferred else "loadbalance"))
    return RoundRobin(random.Random(seed).random, config.preferred)


def kinds(section: Records) -> list[int]:
    return [record.rtype for record in section]


def texts(section: Records) -> list[str]:
    return [addr.unpack(record.rdata) for record in section]


class TestRoundRobin:
    def test_every_order_comes_about_equally_often(self) -> None:
        policy = round_robin()
        orders = Counter(balanced(policy, Reply(0, 0, FOUR)).answer for _ in range(4800))
        assert len(orders) == 24
        assert min(orders.values()) > 120

    def test_each_section_is_grouped_and_what_is_not_balanced_keeps_its_order(self) -> None:
        mixed = (*FOUR[:2], *MX, *TXT, *V6, *CNAMES)
        for seed in range(20):
            answer = balanced(round_robin(seed), Reply(0, 0, mixed, mixed, mixed))
            for section in (answer.answer, answer.authority, answer.additional):
                assert section[:4] == (*CNAMES, *TXT)
                assert set(section[4:8]) == {*FOUR[:2], *V6}
                assert set(section[8:]) == set(MX)

    @pytest.mark.parametrize("section", [(), FOUR[:1], (*CNAMES, FOUR[0]), TXT, (FOUR[0], MX[0])])
    def test_what_needs_no_balance_is_the_same_object(self, section: Records) -> None:
        reply = Reply(0, 0, section, section, section)
        assert balanced(round_robin(), reply) is reply

    def test_everything_else_of_the_reply_is_kept(self) -> None:
        reply = Reply(0, consts.AA | consts.RD, FOUR, (), TXT, None, b"question", "error", depends=(b"key",))
        answer = balanced(round_robin(3), reply)
        assert answer is not reply
        for name in Reply.__slots__:
            if name != "answer":
                assert getattr(answer, name) == getattr(reply, name)
        assert reply.answer == FOUR

    @pytest.mark.parametrize(
        "reply", [DROP, failure(consts.SERVFAIL), Reply(consts.NXDOMAIN, 0, FOUR), Reply(consts.SERVFAIL, 0, FOUR)]
    )
    def test_only_noerror_is_balanced(self, reply: Reply) -> None:
        assert balanced(round_robin(), reply) is reply

    @pytest.mark.parametrize("qtype", ["AXFR", "IXFR"])
    def test_transfers_are_not_balanced(self, qtype: str) -> None:
        reply = Reply(0, 0, FOUR)
        assert balanced(round_robin(), reply, qtype) is reply

    async def test_a_reply_that_comes_later(self) -> None:
        handler = LoadBalance(round_robin())
        handler.next = FakeNext(Reply(0, 0, FOUR), later=True)
        assert set((await settled(handler.serve(request_with()))).answer) == set(FOUR)


class TestPrefer:
    MIXED = records(
        "m.example.org. 60 IN A 10.2.0.1",
        "m.example.org. 60 IN AAAA 2001:db8:2::1",
        "m.example.org. 60 IN A 10.1.0.1",
        "m.example.org. 60 IN A 10.1.0.2",
        "m.example.org. 60 IN AAAA 2001:db8:1::1",
    )

    def test_preferred_subnets_come_first_in_the_order_given(self) -> None:
        seen = set()
        for seed in range(40):
            policy = round_robin(seed, "10.1.0.0/16 2001:db8:1::/48")
            answer = texts(balanced(policy, Reply(0, 0, self.MIXED)).answer)
            assert set(answer[:2]) == {"10.1.0.1", "10.1.0.2"}
            assert answer[2] == "2001:db8:1::1"
            assert set(answer[3:]) == {"10.2.0.1", "2001:db8:2::1"}
            seen.add(tuple(answer))
        assert len(seen) == 4  # within each rank the order stays random

    def test_the_first_matching_subnet_counts(self) -> None:
        answer = balanced(round_robin(1, "10.1.0.2/32 10.0.0.0/8"), Reply(0, 0, self.MIXED)).answer
        assert texts(answer)[0] == "10.1.0.2"

    def test_order_of_types_in_answer_and_additional_only(self) -> None:
        mixed = (*TXT, *MX, *FOUR, *CNAMES)
        answer = balanced(round_robin(1, "10.0.0.0/8"), Reply(0, 0, mixed, mixed, mixed))
        preferred = [5, 5, 1, 1, 1, 1, 15, 15, 16, 16]
        assert kinds(answer.answer) == kinds(answer.additional) == preferred
        assert kinds(answer.authority) == [5, 5, 16, 16, 1, 1, 1, 1, 15, 15]


class Scale:
    """Weights by last byte of the address."""

    def __init__(self, **weights: int) -> None:
        self._weights = {int(key[1:]): weight for key, weight in weights.items()}

    def of(self, record: Record) -> int:
        return self._weights.get(record.rdata[-1], 1)


class TestWeighted:
    def test_the_first_address_follows_the_weights_and_changes_places(self) -> None:
        policy = Weighted(random.Random(5).random, Scale(a1=3, a2=5))
        tops: Counter[int] = Counter()
        for _ in range(5000):
            answer = balanced(policy, Reply(0, 0, FOUR)).answer
            top = FOUR.index(answer[0])
            expected = list(FOUR)
            expected[0], expected[top] = expected[top], expected[0]
            assert list(answer) == expected
            tops[top] += 1
        assert [round(tops[n] / 500) for n in range(4)] == [3, 5, 1, 1]

    @pytest.mark.parametrize("qtype", ["MX", "NS", "TXT", "ANY"])
    def test_only_address_and_srv_questions(self, qtype: str) -> None:
        reply = Reply(0, 0, FOUR)
        assert balanced(Weighted(random.Random(1).random, Scale()), reply, qtype) is reply

    def test_the_addresses_of_srv_targets_and_the_grouping(self) -> None:
        mixed = (*MX, *FOUR, *TXT, *CNAMES)
        reply = Reply(0, 0, TXT, mixed, mixed)
        answer = balanced(Weighted(random.Random(1).random, Scale(a4=10**9)), reply, "SRV")
        assert answer.answer == TXT
        assert answer.authority == mixed
        assert kinds(answer.additional) == [5, 5, 16, 16, 1, 1, 1, 1, 15, 15]
        assert answer.additional[4] == FOUR[3]

    def test_one_address_is_left_alone(self) -> None:
        reply = Reply(0, 0, FOUR[:1], (), TXT)
        assert balanced(Weighted(random.Random(1).random, Scale()), reply) is reply
