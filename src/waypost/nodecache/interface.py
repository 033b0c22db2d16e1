"""The interface that holds the local addresses, through netlink."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Sequence
from typing import Any, Final

from pyroute2 import AsyncIPRoute
from pyroute2.netlink.exceptions import NetlinkError

from waypost.nodecache.failure import SetupError
from waypost.nodecache.settings import IpAddress

LIFETIME: Final = 10
"""Seconds that addresses last without being given again, where they are not to last for ever."""
_FOREVER: Final = 0xFFFFFFFF
_NO_DUPLICATE_DETECTION: Final = 0x02
_PATIENCE: Final = 5.0
_GONE: Final = (errno.ENOENT, errno.ENODEV, errno.ESRCH)


class Interface:
    """A virtual device of this kind with these addresses."""

    def __init__(self, name: str, kind: str, addresses: Sequence[IpAddress], *, lasting: bool) -> None:
        self._name = name
        self._kind = kind
        self._addresses = addresses
        self._valid = _FOREVER if lasting else LIFETIME
        self._route: Any = None

    async def ensure(self) -> None:
        """Make the device if it is missing, and give it the addresses, for another while. Raises SetupError."""
        try:
            async with asyncio.timeout(_PATIENCE):
                route = await self._open()
                index = await self._index(route)
                if index is None:
                    index = await self._add(route)
                for address in self._addresses:
                    await self._give(route, index, address)
        except (NetlinkError, OSError) as exc:
            await self.close()
            raise self._failure("interface_add", exc) from exc

    async def remove(self) -> None:
        """Remove the device; another kind of device with that name loses the addresses only. Raises SetupError."""
        try:
            async with asyncio.timeout(_PATIENCE):
                route = await self._open()
                for link in await _dump(route.get_links(ifname=self._name)):
                    await self._take_away(route, link)
        except NetlinkError as exc:
            if exc.code not in _GONE:
                raise self._failure("interface_check", exc) from exc
        except OSError as exc:
            raise self._failure("interface_check", exc) from exc
        finally:
            await self.close()

    async def close(self) -> None:
        """Close the socket."""
        if self._route is not None:
            self._route.close()
            self._route = None

    async def _open(self) -> Any:
        if self._route is None:
            self._route = AsyncIPRoute()
            await self._route.setup_endpoint()
        return self._route

    async def _index(self, route: Any) -> int | None:
        found = await route.link_lookup(ifname=self._name)
        return found[0] if found else None

    async def _add(self, route: Any) -> int:
        """A pair of veth needs a name for its other end, which must be up for IPv6 to work on this one."""
        peer = f"{self._name[:13]}-p" if self._kind == "veth" else ""
        await route.link("add", ifname=self._name, kind=self._kind, **({"peer": peer} if peer else {}))
        index = await self._index(route)
        if index is None:
            raise OSError(errno.ENODEV, "no such device after it was added")
        if self._addresses[0].version == 6:  # on a device that is down only IPv4 addresses are of use
            for up in [index, *(await route.link_lookup(ifname=peer) if peer else [])]:
                await route.link("set", index=up, state="up")
        return index

    async def _give(self, route: Any, index: int, address: IpAddress) -> None:
        more = {"flags": _NO_DUPLICATE_DETECTION} if address.version == 6 else {}
        await route.addr(
            "replace",
            index=index,
            address=str(address),
            prefixlen=address.max_prefixlen,
            preferred_lft=self._valid,
            valid_lft=self._valid,
            **more,
        )

    async def _take_away(self, route: Any, link: Any) -> None:
        info = link.get_attr("IFLA_LINKINFO")
        if info is not None and info.get_attr("IFLA_INFO_KIND") == self._kind:
            await route.link("del", index=link["index"])
            return
        for address in self._addresses:
            await route.addr("del", index=link["index"], address=str(address), prefixlen=address.max_prefixlen)

    def _failure(self, kind: str, exc: Exception) -> SetupError:
        code = exc.code if isinstance(exc, NetlinkError) else exc.errno if isinstance(exc, OSError) else None
        reason = os.strerror(code).lower() if code else str(exc) or "the kernel does not answer"
        hint = f"; is there no device of kind {self._kind} in this kernel?" if code == errno.EOPNOTSUPP else ""
        return SetupError(kind, f"interface {self._name}: {reason}{hint}")


async def _dump(pending: Any) -> list[Any]:
    return [each async for each in await pending]
