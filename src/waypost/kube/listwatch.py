"""LIST and WATCH of one resource, decoded into `cluster.objects` as the bytes arrive.

A list comes in pages (limit, continue). A watch comes as lines; with no version to start from it first sends what
exists and marks the end with an annotated bookmark (WatchList, KEP-3157). No JSON ever becomes a dict: msgspec
decodes into the structs and skips the other fields.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, field

from waypost.cluster.objects import EndpointSlice, Meta, Namespace, Pod, Service
from waypost.kube.client import ApiClient
from waypost.kube.errors import ApiProtocolError, ApiStatusError, Status
from waypost.kube.following import KubeObject

ObjectT = TypeVar("ObjectT", bound=KubeObject)

PAGE_LIMITS = (500, 500, 0)
"""Objects in a page, by attempt: a list whose continue token expires is started again, at last in one piece."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Resource(Generic[ObjectT]):
    """What is listed and watched: the kind, where it is, the struct it becomes, and the selectors sent with it."""

    kind: str
    path: str
    item: type[ObjectT]
    label_selector: str = ""
    field_selector: str = ""
    version: str = "v1"

    @property
    def go_type(self) -> str:
        """The kind as CoreDNS writes it in logs: `*v1.Service`."""
        return f"*{self.version}.{self.kind}"

    def selectors(self) -> dict[str, str]:
        """The selectors as query parameters."""
        pairs = (("labelSelector", self.label_selector), ("fieldSelector", self.field_selector))
        return {name: value for name, value in pairs if value}


SERVICES = Resource("Service", "/api/v1/services", Service)
ENDPOINT_SLICES = Resource("EndpointSlice", "/apis/discovery.k8s.io/v1/endpointslices", EndpointSlice)
NAMESPACES = Resource("Namespace", "/api/v1/namespaces", Namespace)
PODS = Resource(
    "Pod",
    "/api/v1/pods",
    Pod,
    field_selector="status.phase!=Succeeded,status.phase!=Failed,status.phase!=Unknown",
)


class ListMeta(Struct, rename="camel"):
    """ListMeta: `resource_version` is where a watch goes on, `continue_` asks for the next page."""

    resource_version: str = ""
    continue_: str = field(default="", name="continue")


class ListPage(Struct, Generic[ObjectT]):
    """One answer to a LIST."""

    kind: str
    metadata: ListMeta
    items: list[ObjectT] | None = None


class Page(NamedTuple, Generic[ObjectT]):
    """A page for the reader. `first` is true for the first one, and again when the list had to start anew."""

    items: list[ObjectT]
    resource_version: int
    first: bool


class Added(Struct, Generic[ObjectT], tag_field="type", tag="ADDED", gc=False):
    """A watch event: the object exists, new to this watch."""

    object: ObjectT


class Modified(Struct, Generic[ObjectT], tag_field="type", tag="MODIFIED", gc=False):
    """A watch event: the object changed."""

    object: ObjectT


class Deleted(Struct, Generic[ObjectT], tag_field="type", tag="DELETED", gc=False):
    """A watch event: the object is gone, or no longer matches the selectors; `object` is its last state."""

    object: ObjectT


class BookmarkObject(Struct):
    """The object of a bookmark, of which only the metadata mean something."""

    metadata: Meta


class Bookmark(Struct, tag_field="type", tag="BOOKMARK"):
    """A watch event: everything up to this resource version has been sent."""

    object: BookmarkObject

    @property
    def ends_initial_events(self) -> bool:
        """True for the bookmark after the objects that existed when the watch began."""
        return (self.object.metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


class Failure(Struct, tag_field="type", tag="ERROR"):
    """A watch event: the server ends the watch, and says why."""

    object: Status


Change: TypeAlias = Added[ObjectT] | Modified[ObjectT] | Deleted[ObjectT]
Event: TypeAlias = Change[ObjectT] | Bookmark


class ResourceDecoder(Generic[ObjectT]):
    """Bytes of one resource -> pages and events. Anything else raises ApiProtocolError."""

    def __init__(self, resource: Resource[ObjectT]) -> None:
        self._list_kind = f"{resource.kind}List"
        # The items of a list carry no kind, those of a watch do: a subclass checks it while decoding, at no cost.
        item: Any = msgspec.defstruct(
            resource.item.__name__,
            [("kind", Literal[resource.kind], resource.kind)],
            bases=(resource.item,),
            gc=False,
        )
        self._page = msgspec.json.Decoder(ListPage[item])
        self._event: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            Added[item] | Modified[item] | Deleted[item] | Bookmark | Failure
        )

    def page(self, body: bytes) -> ListPage[ObjectT]:
        """The body of a LIST."""
        try:
            page = self._page.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ApiProtocolError(f"expected a {self._list_kind}: {error}") from error
        if page.kind != self._list_kind:
            raise ApiProtocolError(f'expected a {self._list_kind}, got "{page.kind[:100]}"')
        for item in page.items or ():
            _require_name(item)
        return cast(ListPage[ObjectT], page)

    def event(self, line: bytes) -> Event[ObjectT] | Failure:
        """A line of a WATCH."""
        try:
            event = self._event.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ApiProtocolError(f"expected a watch event: {error}") from error
        if not isinstance(event, Bookmark | Failure):
            _require_name(event.object)
        return cast("Event[ObjectT] | Failure", event)


def _require_name(item: KubeObject) -> None:
    if not item.metadata.name:
        raise ApiProtocolError("metadata.name: expected a name, got none")


def version_number(text: str) -> int:
    """A resource version as the number that it is on every API server (KEP-5504). ApiProtocolError otherwise."""
    if not (text.isascii() and text.isdigit() and len(text) <= 20):
        raise ApiProtocolError(f'metadata.resourceVersion: expected a decimal number, got "{text[:100]}"')
    return int(text)


async def list_pages(
    client: ApiClient, resource: Resource[ObjectT], decoder: ResourceDecoder[ObjectT]
) -> AsyncGenerator[Page[ObjectT], None]:
    """The pages of a LIST of the present state. An expired continue token starts the list again (`Page.first`).

    No resourceVersion is sent: "0" would make the server ignore the limit, and could show an older state than the
    one we know.
    """
    for limit in PAGE_LIMITS:
        token = ""
        try:
            while True:
                params = resource.selectors()
                params |= {"limit": str(limit)} if limit else {}
                params |= {"continue": token} if token else {}
                page = decoder.page(await client.get_json_bytes(resource.path, params))
                yield Page(page.items or [], version_number(page.metadata.resource_version), first=not token)
                token = page.metadata.continue_
                if not token:
                    return
        except ApiStatusError as error:
            if not (error.expired and token):
                raise


@asynccontextmanager
async def watch(
    client: ApiClient,
    resource: Resource[ObjectT],
    decoder: ResourceDecoder[ObjectT],
    *,
    resource_version: int | None,
    timeout_seconds: int,
) -> AsyncIterator[AsyncIterator[Event[ObjectT]]]:
    """The events after `resource_version`; with None, first what exists, up to `Bookmark.ends_initial_events`.

    Entered once the server has said yes. The events end when the server ends the watch, which it is asked to do after
    `timeout_seconds`. Its ERROR events are raised as ApiStatusError.
    """
    params = {**resource.selectors(), "watch": "true", "allowWatchBookmarks": "true"}
    if resource_version is None:
        params |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    else:
        params["resourceVersion"] = str(resource_version)
    params["timeoutSeconds"] = str(timeout_seconds)
    async with (
        client.stream_lines(resource.path, params) as lines,
        aclosing(_events(lines, decoder)) as events,
    ):
        yield events


async def _events(
    lines: AsyncIterator[bytes], decoder: ResourceDecoder[ObjectT]
) -> AsyncGenerator[Event[ObjectT], None]:
    async for line in lines:
        event = decoder.event(line)
        if isinstance(event, Failure):
            raise event.object.error()
        yield event
