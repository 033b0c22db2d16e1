"""What is sent to the kernel, and what follows from its refusals; the real kernel is asked in namespaces."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any

import pytest

pytest.importorskip("pyroute2")

from waypost.nodecache import nftables
from waypost.nodecache.failure import SetupError
from waypost.nodecache.nftables import NftablesRedirect, Refusal, has_nftables
from waypost.nodecache.rules import rules, untracked

MATCHES = untracked(rules(["10.96.0.10"], "53", "8080"))
KINDS = {0: "table", 2: "no table", 3: "chain", 6: "rule", 9: "set", 12: "element", 14: "no element"}


class Kernel:
    """Takes batches, or refuses them with the next error number."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.flags: list[int] = []
        self.refusals: list[int] = []
        self.open = 0

    async def opened(self) -> Kernel:
        self.open += 1
        return self

    def close(self) -> None:
        self.open -= 1

    async def take(self, sock: Kernel, messages: Sequence[Any]) -> None:
        assert sock is self
        self.batches.append([KINDS[message["header"]["type"] & 0xFF] for message in messages])
        self.flags += [value for m in messages for name, value in m["attrs"] if name == "NFTA_TABLE_FLAGS"]
        if self.refusals:
            raise Refusal(self.refusals.pop(0))


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    kernel = Kernel()
    monkeypatch.setattr(nftables, "_open", kernel.opened)
    monkeypatch.setattr(nftables, "_send", kernel.take)
    return kernel


def redirect() -> NftablesRedirect:
    return NftablesRedirect([ip_address("10.96.0.10")], MATCHES, "a1")


async def test_a_whole_table_then_only_its_elements_then_nothing(kernel: Kernel) -> None:
    made = redirect()
    await made.withdraw()
    await made.put()
    await made.put()
    await made.withdraw()
    await made.withdraw()
    whole = ["table", "set", "chain", "chain", *["rule"] * 8, "element"]
    assert kernel.batches == [whole, ["element", "no element", "element"], ["no table"]]
    assert kernel.flags == [2]
    assert kernel.open == 0


async def test_a_kernel_that_knows_no_owner(kernel: Kernel) -> None:
    made = redirect()
    kernel.refusals = [errno.EOPNOTSUPP]
    await made.put()
    assert kernel.flags == [2, 0]
    await made.withdraw()
    await made.put()
    assert kernel.flags == [2, 0, 0]
    await made.close()


async def test_a_table_that_is_gone_is_made_anew(kernel: Kernel) -> None:
    made = redirect()
    await made.put()
    kernel.refusals = [errno.ENOENT]
    await made.put()
    assert [batch[0] for batch in kernel.batches] == ["table", "element", "table"]
    await made.close()
    assert kernel.open == 0


async def test_a_refusal_leaves_nothing_and_is_said(kernel: Kernel) -> None:
    made = redirect()
    kernel.refusals = [errno.EPERM]
    with pytest.raises(SetupError, match="nftables: operation not permitted") as error:
        await made.put()
    assert (error.value.kind, kernel.open) == ("nftables", 0)
    await made.put()
    await made.close()


@pytest.mark.parametrize(
    ("refusals", "has"), [([], True), ([errno.ENOENT], True), ([errno.EPERM], True), ([errno.EOPNOTSUPP], False)]
)
async def test_whether_the_kernel_has_it(kernel: Kernel, refusals: list[int], has: bool) -> None:
    kernel.refusals = refusals
    assert await has_nftables() == has
    assert kernel.open == 0
