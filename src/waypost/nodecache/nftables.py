"""NOTRACK rules in a table of nftables that lives only as long as it is looked after.

The kernel destroys the table with the socket that made it (`flags owner`, since Linux 5.12), and the rules count only
for addresses of a set whose elements expire after LIFETIME seconds. So nothing needs to be cleaned up after a process
that was killed or hangs. Each instance has its own table: two of them change nothing for a packet.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from pyroute2.netlink import NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_REQUEST
from pyroute2.netlink.exceptions import NetlinkError
from pyroute2.netlink.nfnetlink import NFNL_SUBSYS_NFTABLES, nfgen_msg, nftsocket
from pyroute2.nftables.expressions import genex

from waypost.nodecache.failure import SetupError
from waypost.nodecache.rules import Match
from waypost.nodecache.settings import IpAddress

LIFETIME: Final = 3
"""Seconds that rules stand without being put again."""
_PATIENCE: Final = 2.0
_PREFIX: Final = "waypost-node-cache"
_SET: Final = "local"
_OWNER: Final = 2
_ACCEPT: Final = 1
_RAW_PRIORITY: Final = -300
_HOOKS: Final = {"PREROUTING": 0, "OUTPUT": 3}
_PROTOCOLS: Final = {"tcp": 6, "udp": 17}
_BATCH_BEGIN: Final = 0x10
_BATCH_END: Final = 0x11
_META_L4PROTO: Final = 16
_NETWORK_HEADER: Final = 1
_TRANSPORT_HEADER: Final = 2
_ADDRESS_AT: Final = {(4, "source"): 12, (4, "destination"): 16, (6, "source"): 8, (6, "destination"): 24}
_PORT_AT: Final = {"source": 0, "destination": 2}
_KEY_TYPES: Final = {4: nftsocket.DATA_TYPE_IPADDR, 6: nftsocket.DATA_TYPE_IP6ADDR}
_FAMILIES: Final = {4: nftsocket.NFPROTO_IPV4, 6: nftsocket.NFPROTO_IPV6}
# What a kernel says that does not know nftables at all.
_UNKNOWN: Final = (errno.EOPNOTSUPP, errno.EINVAL, errno.EPROTONOSUPPORT, errno.ENOSYS)


class Refusal(SetupError):
    """The kernel refused a message; `code` is the errno."""

    def __init__(self, code: int) -> None:
        super().__init__("nftables", f"nftables: {os.strerror(code).lower()}")
        self.code = code


async def has_nftables() -> bool:
    """Whether this kernel has nftables; one that refuses us has it."""
    try:
        sock = await _open()
    except SetupError:
        return False
    try:
        await _send(sock, [_Table("none", 4, owned=False).delete()])
    except Refusal as exc:
        return exc.code not in _UNKNOWN
    except SetupError:
        return True
    finally:
        sock.close()
    return True


class NftablesRedirect:
    """`identity` makes the table's name different from those of other instances."""

    lapses: Final = True

    def __init__(self, addresses: Sequence[IpAddress], matches: Sequence[Match], identity: str) -> None:
        self._addresses = addresses
        self._matches = matches
        self._identity = identity
        self._owned = True
        self._stands = False
        self._sock: Any = None

    async def put(self) -> None:
        """Make the table, or give its elements another LIFETIME seconds. Raises SetupError."""
        if self._stands:
            try:
                return await _send(self._sock, self._table.refresh(self._addresses))
            except SetupError:  # somebody took it away, or the kernel is short of memory: anew
                await self.close()
        self._stands = True  # even if this is cancelled half way
        try:
            await self._make()
        except SetupError:
            await self.close()
            raise

    async def withdraw(self) -> None:
        """Remove the table, which goes with its socket if nothing else helps."""
        if self._stands:
            with suppress(SetupError):
                await _send(self._sock, [self._table.delete()])
            await self.close()

    async def sweep(self) -> None:
        """Nothing to do: elements expire."""

    async def close(self) -> None:
        """Close the socket, and with it the table."""
        if self._sock is not None:
            self._sock.close()
            self._sock = None
            self._stands = False

    @property
    def _table(self) -> _Table:
        return _Table(f"{_PREFIX}-{self._identity}", self._addresses[0].version, owned=self._owned)

    async def _make(self) -> None:
        if self._sock is None:
            self._sock = await _open()
        try:
            await _send(self._sock, self._table.make(self._matches, self._addresses))
        except Refusal as exc:
            if not self._owned or exc.code not in _UNKNOWN:
                raise
            self._owned = False
            await _send(self._sock, self._table.make(self._matches, self._addresses))


class _Table:
    """Messages about one table."""

    def __init__(self, name: str, version: int, *, owned: bool) -> None:
        self._name = name
        self._version = version
        self._flags = _OWNER if owned else 0

    def make(self, matches: Iterable[Match], addresses: Iterable[IpAddress]) -> list[Any]:
        """The whole table with what is in it."""
        table = ("NFTA_TABLE_NAME", self._name), ("NFTA_TABLE_FLAGS", self._flags)
        return [
            self._message(nftsocket.nft_table_msg, nftsocket.NFT_MSG_NEWTABLE, *table),
            self._set(),
            *(self._chain(name, hook) for name, hook in _HOOKS.items()),
            *(self._rule(match) for match in matches),
            self._elements(nftsocket.NFT_MSG_NEWSETELEM, addresses),
        ]

    def refresh(self, addresses: Iterable[IpAddress]) -> list[Any]:
        """Elements anew; added first, so that there is something to delete where they have expired."""
        kinds = (nftsocket.NFT_MSG_NEWSETELEM, nftsocket.NFT_MSG_DELSETELEM, nftsocket.NFT_MSG_NEWSETELEM)
        return [self._elements(kind, addresses) for kind in kinds]

    def delete(self) -> Any:
        """The table with all that is in it."""
        return self._message(
            nftsocket.nft_table_msg, nftsocket.NFT_MSG_DELTABLE, ("NFTA_TABLE_NAME", self._name), flags=0
        )

    def _set(self) -> Any:
        return self._message(
            nftsocket.nft_set_msg,
            nftsocket.NFT_MSG_NEWSET,
            ("NFTA_SET_TABLE", self._name),
            ("NFTA_SET_NAME", _SET),
            ("NFTA_SET_FLAGS", {"NFT_SET_TIMEOUT"}),
            ("NFTA_SET_KEY_TYPE", _KEY_TYPES[self._version]),
            ("NFTA_SET_KEY_LEN", self._length),
            ("NFTA_SET_ID", 1),
            ("NFTA_SET_TIMEOUT", LIFETIME * 1000),
        )

    def _chain(self, name: str, hook: int) -> Any:
        where = {"attrs": [("NFTA_HOOK_HOOKNUM", hook), ("NFTA_HOOK_PRIORITY", _RAW_PRIORITY)]}
        return self._message(
            nftsocket.nft_chain_msg,
            nftsocket.NFT_MSG_NEWCHAIN,
            ("NFTA_CHAIN_TABLE", self._name),
            ("NFTA_CHAIN_NAME", name.lower()),
            ("NFTA_CHAIN_HOOK", where),
            ("NFTA_CHAIN_POLICY", _ACCEPT),
            ("NFTA_CHAIN_TYPE", "filter"),
        )

    def _rule(self, match: Match) -> Any:
        address_at = _ADDRESS_AT[self._version, match.side]
        expressions = [
            genex("meta", {"dreg": 1, "key": _META_L4PROTO}),
            _equals(bytes([_PROTOCOLS[match.protocol]])),
            genex("payload", {"dreg": 1, "base": _NETWORK_HEADER, "offset": address_at, "len": self._length}),
            genex("lookup", {"set": _SET, "sreg": 1}),
            genex("payload", {"dreg": 1, "base": _TRANSPORT_HEADER, "offset": _PORT_AT[match.side], "len": 2}),
            _equals(match.port.to_bytes(2, "big")),
            {"attrs": [("NFTA_EXPR_NAME", "notrack")]},
        ]
        return self._message(
            nftsocket.nft_rule_msg,
            nftsocket.NFT_MSG_NEWRULE,
            ("NFTA_RULE_TABLE", self._name),
            ("NFTA_RULE_CHAIN", match.chain.lower()),
            ("NFTA_RULE_EXPRESSIONS", expressions),
            flags=NLM_F_CREATE | NLM_F_APPEND,
        )

    def _elements(self, kind: int, addresses: Iterable[IpAddress]) -> Any:
        keys = [{"attrs": [("NFTA_DATA_VALUE", address.packed)]} for address in addresses]
        elements = [{"attrs": [("NFTA_SET_ELEM_KEY", key)]} for key in keys]
        return self._message(
            nftsocket.nft_set_elem_list_msg,
            kind,
            ("NFTA_SET_ELEM_LIST_TABLE", self._name),
            ("NFTA_SET_ELEM_LIST_SET", _SET),
            ("NFTA_SET_ELEM_LIST_ELEMENTS", elements),
            flags=NLM_F_CREATE if kind == nftsocket.NFT_MSG_NEWSETELEM else 0,
        )

    def _message(self, kind: Any, number: int, *attributes: tuple[str, Any], flags: int = NLM_F_CREATE) -> Any:
        message = kind()
        message["attrs"] = list(attributes)
        message["header"]["type"] = (NFNL_SUBSYS_NFTABLES << 8) | number
        message["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | flags
        message["nfgen_family"] = _FAMILIES[self._version]
        return message

    @property
    def _length(self) -> int:
        return 4 if self._version == 4 else 16


def _equals(data: bytes) -> Any:
    return genex("cmp", {"sreg": 1, "op": 0, "data": {"attrs": [("NFTA_DATA_VALUE", data)]}})


async def _open() -> Any:
    """Raises SetupError."""
    try:
        sock = nftsocket.AsyncNFTSocket()
        await sock.setup_endpoint()
    except OSError as exc:
        raise SetupError("nftables", f"nftables: {exc.strerror or exc}") from exc
    return sock


async def _send(sock: Any, messages: Sequence[Any]) -> None:
    """All of them, or none. Raises SetupError."""
    batch = [_edge(_BATCH_BEGIN), *messages, _edge(_BATCH_END)]
    try:
        async with asyncio.timeout(_PATIENCE):
            async for _ in sock.nlm_request_batch(batch):
                pass
    except NetlinkError as exc:
        raise Refusal(exc.code) from exc
    except TimeoutError:
        # A process without the capability is told so about a message of the batch for which nobody waits.
        raise SetupError("nftables", "nftables: the kernel confirms nothing; is NET_ADMIN missing?") from None


def _edge(kind: int) -> Any:
    message = nfgen_msg()
    message["res_id"] = NFNL_SUBSYS_NFTABLES
    message["header"]["type"] = kind
    message["header"]["flags"] = NLM_F_REQUEST
    return message
