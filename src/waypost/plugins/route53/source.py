"""Hosted zones read from Route 53, at the start and then at intervals. botocore blocks, so it works in threads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from waypost.log import Log
from waypost.plugins.route53.config import Account
from waypost.plugins.route53.records import zone_of
from waypost.toolkit.background import Background
from waypost.toolkit.zonedata import Zone, ZoneError
from waypost.wire import names

_PAGE: Final = 1000
# Route 53 is one for the world; its requests are signed for this region.
_REGION: Final = "us-east-1"
_CONNECT_TIMEOUT: Final = 5
_READ_TIMEOUT: Final = 30
_ATTEMPTS: Final = 3


class SourceError(Exception):
    """Hosted zones that could not be read; `str()` says which and why."""


class Client(Protocol):
    """What botocore makes for Route 53."""

    def get_paginator(self, operation_name: str) -> Any:
        """All pages of an operation."""
        ...


class HostedZone:
    """A hosted zone: `origin` in wire form and lower case, `zone` as it was read last."""

    __slots__ = ("hosted_id", "origin", "zone")

    def __init__(self, origin: bytes, hosted_id: str) -> None:
        self.origin = origin
        self.hosted_id = hosted_id
        self.zone: Zone | None = None

    def __str__(self) -> str:
        return f"{names.to_text(self.origin)}:{self.hosted_id}"


class Source:
    """Keeps hosted zones true to Route 53. A zone that cannot be read stays as it was."""

    __slots__ = ("_account", "_client", "_connect", "_log", "_refresh", "_sleep", "_work", "_zones")

    def __init__(
        self,
        zones: Sequence[HostedZone],
        account: Account,
        refresh: float,
        log: Log,
        *,
        connect: Callable[[Account], Client] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`refresh` is the seconds between two readings."""
        self._zones = tuple(zones)
        self._account = account
        self._refresh = refresh
        self._log = log
        self._connect = connect or connect_to_aws
        self._sleep = sleep
        self._client: Client | None = None
        self._work = Background()

    async def start(self) -> None:
        """Read every zone, and go on doing so. Raises SourceError if one of them cannot be read now."""
        await self.read()
        self._work.start(self._follow)

    async def stop(self) -> None:
        """End it."""
        await self._work.stop()

    async def read(self) -> None:
        """Read every zone once. Raises SourceError when all were tried."""
        faults = []
        for zone in self._zones:
            try:
                zone.zone = await asyncio.to_thread(self._read, zone)
            except SourceError as exc:
                faults.append(str(exc))
        if faults:
            raise SourceError("; ".join(faults))

    async def _follow(self) -> None:
        while True:
            await self._sleep(self._refresh)
            try:
                await self.read()
            except SourceError as exc:
                self._log.error(f"Failed to update zones: {exc}")

    def _read(self, zone: HostedZone) -> Zone:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            if self._client is None:
                self._client = self._connect(self._account)
            return zone_of(zone.origin, _record_sets(self._client, zone.hosted_id), self._complain)
        except (BotoCoreError, ClientError, ZoneError, ValueError) as exc:
            raise SourceError(f"failed to list resource records for {zone} from route53: {exc}") from exc

    def _complain(self, text: str) -> None:
        self._log.once_a_burst(self._log.warning, text)


def _record_sets(client: Client, hosted_id: str) -> Iterator[Mapping[str, Any]]:
    paginator = client.get_paginator("list_resource_record_sets")
    for page in paginator.paginate(HostedZoneId=hosted_id, PaginationConfig={"PageSize": _PAGE}):
        yield from page["ResourceRecordSets"]


def connect_to_aws(account: Account) -> Client:
    """A client with the keys, or with what the environment, the credentials file or the machine's role gives.

    Raises botocore's errors, and ValueError for an endpoint that is no URL.
    """
    from botocore.config import Config
    from botocore.session import Session

    session = Session(profile=account.profile or None)
    if account.file:
        session.set_config_variable("credentials_file", account.file)
    key_id, secret = account.keys or (None, None)
    client: Client = session.create_client(
        "route53",
        region_name=session.get_config_variable("region") or _REGION,
        endpoint_url=account.endpoint or None,
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        config=Config(
            connect_timeout=_CONNECT_TIMEOUT,
            read_timeout=_READ_TIMEOUT,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
        ),
    )
    return client
