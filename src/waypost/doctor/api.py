"""The objects, the version and the logs, from an API server. Only GET requests are made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from waypost import __version__
from waypost.diagnosis.facts import Cluster
from waypost.diagnosis.finding import Gap, Maybe
from waypost.diagnosis.objects import Object
from waypost.diagnosis.reading import read_object
from waypost.doctor.resources import RESOURCES, Resource
from waypost.kube.client import ApiClient
from waypost.kube.config import ClusterAccess
from waypost.kube.errors import ApiProtocolError, ApiStatusError, ClusterError
from waypost.kube.limits import Limits
from waypost.manifests.documents import described, drop_nulls
from waypost.manifests.problem import FieldError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_PAGE: Final = 500
_MAX_PAGES: Final = 1000
_LOG_LINES: Final = 100
_LIMITS: Final = Limits(qps=50, burst=50)

Tell = Callable[[str], None]
"""Says what is being done."""


@asynccontextmanager
async def opened(access: ClusterAccess) -> AsyncIterator[ApiClient]:
    """A client for the time of the examination."""
    client = ApiClient(access, user_agent=f"waypost/{__version__} doctor", limits=_LIMITS)
    try:
        yield client
    finally:
        await client.close()


async def read_cluster(
    client: ApiClient,
    kinds: Iterable[type[Object]],
    service: tuple[str, str],
    clients: tuple[str, str],
    seconds: float,
    tell: Tell,
) -> Cluster:
    """The objects of these kinds and the version; each request may take `seconds`. Raises nothing."""
    problems: list[str] = []
    wanted = list(kinds)

    async def read(kind: type[Object]) -> Maybe[list[Any]]:
        resource = RESOURCES[kind]
        try:
            found = await _list(client, kind, resource, resource.path(service[0]), seconds, problems)
        except TimeoutError:
            return Gap(f"no answer within {seconds:g} s")
        except (ClusterError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            return Gap(str(error))
        tell(f"read {len(found)} {resource.plural}")
        return found

    version, *found = await asyncio.gather(_version(client, seconds), *map(read, wanted))
    return Cluster(dict(zip(wanted, found, strict=True)), service, clients, problems, version)


async def read_log(client: ApiClient, namespace: str, pod: str, container: str, seconds: float) -> str:
    """The last lines of the container's last run and of the present one; empty if there is none to be had."""
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/log"
    parts = []
    for previous in ("true", "false"):
        parameters = {"container": container, "tailLines": str(_LOG_LINES), "previous": previous}
        try:
            async with asyncio.timeout(seconds):
                parts.append((await client.get_json_bytes(path, parameters)).decode("utf-8", "replace"))
        except (ClusterError, TimeoutError):
            continue
    return "\n".join(parts)


async def _list(
    client: ApiClient, kind: type[Object], resource: Resource, path: str, seconds: float, problems: list[str]
) -> list[Object]:
    """Every object of a kind; those that do not fit become problems. Raises ClusterError and what decoding raises."""
    found: list[Object] = []
    for query in resource.queries:
        token = ""
        for _ in range(_MAX_PAGES):
            parameters = {**query, "limit": str(_PAGE)} | ({"continue": token} if token else {})
            async with asyncio.timeout(seconds):
                body = await client.get_json_bytes(path, parameters)
            items, token = _page(body, path)
            for place, item in enumerate(items):
                _take(found, item, kind, f"{path}: items[{place}]", problems)
            if not token:
                break
        else:
            raise ApiProtocolError(f"{path}: more than {_MAX_PAGES} pages")
    return found


def _page(body: bytes, path: str) -> tuple[list[Any], str]:
    """The items of an answer, and the token of the next page."""
    page = msgspec.json.decode(body)
    drop_nulls(page)
    meta = page.get("metadata", {}) if isinstance(page, dict) else None
    items = page.get("items", []) if isinstance(page, dict) else None
    if not isinstance(meta, dict) or not isinstance(items, list):
        raise ApiProtocolError(f"{path}: expected a list")
    token = meta.get("continue", "")
    return items, token if isinstance(token, str) else ""


def _take(found: list[Object], item: Any, kind: type[Object], place: str, problems: list[str]) -> None:
    """Lists do not repeat the kind in their items."""
    resource = RESOURCES[kind]
    version = resource.prefix.removeprefix("/apis/").removeprefix("/api/")
    try:
        named = {**item, "kind": kind.__name__, "apiVersion": version} if isinstance(item, dict) else item
        obj = read_object(named)
    except FieldError as error:
        problems.append(": ".join(part for part in (place, described(item), error.field, error.text) if part))
        return
    if obj is not None:
        found.append(obj)


async def _version(client: ApiClient, seconds: float) -> Maybe[str]:
    try:
        async with asyncio.timeout(seconds):
            value = msgspec.json.decode(await client.get_json_bytes("/version", {}))
    except TimeoutError:
        return Gap(f"no answer within {seconds:g} s")
    except ApiStatusError as error:
        return Gap(error.message)
    except (ClusterError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        return Gap(str(error))
    found = value.get("gitVersion") if isinstance(value, dict) else None
    return found if isinstance(found, str) else Gap("/version: no gitVersion")
