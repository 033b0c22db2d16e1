"""What this instance holds on the node: the interface with its addresses, the rules, and the claims on both."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from waypost.log import Log
from waypost.nodecache.claims import PRESENT, RULES, Claims
from waypost.nodecache.failure import SetupError
from waypost.nodecache.iptables import IptablesRedirect, has_iptables
from waypost.nodecache.redirect import NoRules, Redirect
from waypost.nodecache.rules import rules, untracked
from waypost.nodecache.settings import Settings

_LOOKS = 20


class Node:
    """`failed` is told the kind of each error; none of them ends anything: what fails is tried again."""

    def __init__(
        self, settings: Settings, redirect: Redirect, claims: Claims, log: Log, failed: Callable[[str], None]
    ) -> None:
        self._settings = settings
        self._redirect = redirect
        self._claims = claims
        self._log = log
        self._failed = failed
        self._interface = None
        if settings.sets_up_interface:
            from waypost.nodecache.interface import Interface

            # Rules that outlive the addresses would lead to nowhere.
            self._interface = Interface(
                settings.interface, settings.interface_kind, settings.addresses, lasting=not redirect.lapses
            )

    async def enter(self) -> None:
        """Claim the node, take away what dead instances left, and have the addresses, so that a server can listen."""
        self._claims.take(PRESENT)
        with self._tried():
            await self._redirect.sweep()
        await self.refresh()

    async def refresh(self) -> None:
        """See to it that the addresses are there, and stay."""
        if self._interface is not None:
            with self._tried():
                await self._interface.ensure()

    async def stand(self, wanted: bool) -> None:
        """Let the rules stand or not; asked for again with every round."""
        with self._tried():
            await (self._redirect.put() if wanted else self._redirect.withdraw())

    async def leave(self) -> None:
        """Give up the claims, and be the one who clears the node if nobody else has any."""
        self._claims.drop(PRESENT)
        if not self._settings.skips_teardown:
            await self.stand(False)
            await self.clear()
        await self._redirect.close()
        if self._interface is not None:
            await self._interface.close()

    async def clear(self) -> None:
        """Remove the interface if no instance is left."""
        if self._interface is not None and not self._claims.others(PRESENT):
            with self._tried():
                await self._interface.remove()

    @contextmanager
    def _tried(self) -> Iterator[None]:
        """What fails inside is counted, and said, at most every half minute."""
        try:
            yield
        except SetupError as exc:
            self._failed(exc.kind)
            self._log.once_a_burst(self._log.error, str(exc))


async def make_redirect(settings: Settings, claims: Claims) -> Redirect:
    """The rules by the means that the settings name, or that this node has. Raises SetupError if it has none."""
    if not settings.sets_up_rules:
        return NoRules()
    wanted = rules(map(str, settings.addresses), settings.port, settings.health_port)
    if settings.rules != "iptables":
        from waypost.nodecache.nftables import NftablesRedirect, has_nftables

        if settings.rules == "nftables" or await has_nftables():
            return NftablesRedirect(settings.addresses, untracked(wanted), claims.identity)
    if settings.rules == "auto" and not has_iptables():
        raise SetupError("iptables", "this kernel has no nftables, and there is no iptables-restore")
    return IptablesRedirect(wanted, settings.version, claims, settings.sync_interval)


async def left_alone(claims: Claims, pause: float = 0.1) -> bool:
    """Whether no other instance is here. `pause` is for how many seconds to wait between two looks.

    A process that is killed closes one file after the other, so a watchdog's claims may be there for a moment after
    we have heard of its end.
    """
    for _ in range(_LOOKS):
        if not (claims.others(PRESENT) or claims.others(RULES)):
            return True
        await asyncio.sleep(pause)
    return not claims.others(PRESENT)


async def clear_after_watchdog(settings: Settings, log: Log) -> None:
    """What the server does when its watchdog is no more: clear the node, unless another instance is there."""
    claims = Claims(settings.interface)
    if settings.skips_teardown or not await left_alone(claims):
        return
    redirect = await make_redirect(settings, claims)
    node = Node(settings, redirect, claims, log, lambda kind: None)
    try:
        await redirect.sweep()
    except SetupError as exc:
        log.error(str(exc))
    await node.leave()
