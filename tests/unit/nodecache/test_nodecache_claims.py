"""Claims are counted over instances, and end with them."""

from __future__ import annotations

import os
import secrets

from waypost.nodecache.claims import PRESENT, RULES, Claims


def test_claims_are_counted_by_kind_and_interface() -> None:
    name = secrets.token_hex(4)
    one, two, elsewhere = Claims(name), Claims(name), Claims(f"{name}x")
    one.take(PRESENT)
    one.take(PRESENT)
    elsewhere.take(PRESENT)
    assert (one.others(PRESENT), two.others(PRESENT), two.others(RULES)) == (0, 1, 0)
    two.take(PRESENT)
    two.take(RULES)
    assert (one.others(PRESENT), one.others(RULES)) == (1, 1)
    two.drop(RULES)
    two.drop(RULES)
    assert (one.others(PRESENT), one.others(RULES)) == (1, 0)
    for claims in (one, two, elsewhere):
        claims.drop(PRESENT)
    assert one.others(PRESENT) == 0


def test_a_claim_ends_with_its_process() -> None:
    claims = Claims(secrets.token_hex(4))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        Claims(claims._prefix.rpartition("/")[2]).take(PRESENT)
        os.write(writer, b"x")
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert os.read(reader, 1) == b"x"
    assert claims.others(PRESENT) == 0
    os.close(reader)
    os.close(writer)
