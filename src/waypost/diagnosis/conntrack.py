"""The kernel's connection tracking: packets lost in races, and a table that is full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Outcome, Unknown, counted, failure, known, ok, warning

_FULL: Final = 0.95
_FILLING: Final = 0.75
_SINGLE: Final = frozenset(("entries",))
"""Columns that hold the same number for every CPU."""


def parse_statistics(text: str) -> dict[str, int]:
    """The columns of /proc/net/stat/nf_conntrack, added up over the CPUs. Raises ValueError.

    A line of names, then one of hexadecimal numbers for each CPU.
    """
    head, *rows = text.splitlines() or [""]
    names = head.split()
    if "insert_failed" not in names:
        raise ValueError("expected a line of names with insert_failed")
    totals = dict.fromkeys(names, 0)
    for row in rows:
        for name, value in zip(names, row.split(), strict=False):
            number = int(value, 16)
            totals[name] = number if name in _SINGLE else totals[name] + number
    return totals


def judge_insert_failed(facts: Facts) -> Iterator[Outcome]:
    """Of two packets from one socket at a time, such as A and AAAA, one may get lost; it is asked again after 5 s."""
    file = known(facts.node_files().conntrack)
    try:
        totals = parse_statistics(file.text)
    except ValueError as error:
        raise Unknown(f"{file.path}: not understood: {error}") from None
    failed, dropped = totals["insert_failed"], totals.get("drop", 0)
    evidence = f"{file.path}: insert_failed {failed}, drop {dropped}, since the node started"
    if not failed:
        yield ok("no packet was lost to a race in conntrack", evidence)
    elif dropped:
        yield warning(
            f"conntrack lost packets {counted(dropped, 'time')}: such a query waits for 5 s",
            evidence,
            remedy="use node-local DNS (it needs no conntrack), a kernel of 5.7 or later, or the resolver option"
            " single-request-reopen; see whether the numbers still grow",
        )
    else:
        yield ok("conntrack saw races, and the kernel resolved them", evidence)


def judge_table(facts: Facts) -> Iterator[Outcome]:
    """A full table drops every new flow."""
    node = facts.node_files()
    used, most = known(node.conntrack_count), known(node.conntrack_max)
    try:
        count, limit = int(used.text), int(most.text)
    except ValueError:
        raise Unknown(f"{used.path}, {most.path}: expected a number in each") from None
    evidence = f"{used.path}: {count} of {most.path}: {limit}"
    if limit <= 0 or count < _FILLING * limit:
        yield ok("the conntrack table has room", evidence)
        return
    full = count >= _FULL * limit
    tell = failure if full else warning
    yield tell(
        "the conntrack table is full: new flows, queries among them, are dropped" if full
        else f"the conntrack table is {100 * count // limit} % full",
        evidence,
        remedy="raise net.netfilter.nf_conntrack_max, or use node-local DNS for fewer entries",
    )  # fmt: skip
