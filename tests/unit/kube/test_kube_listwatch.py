"""kube.listwatch and kube.errors against recordings of a real API server."""

from __future__ import annotations

import msgspec
import pytest

from support.kube import ScriptedClient, recording
from waypost.cluster.objects import Service
from waypost.kube.errors import ApiProtocolError, ApiStatusError, status_error
from waypost.kube.listwatch import (
    ENDPOINT_SLICES,
    NAMESPACES,
    PODS,
    SERVICES,
    Bookmark,
    Deleted,
    Failure,
    Modified,
    Resource,
    ResourceDecoder,
    list_pages,
    version_number,
    watch,
)


async def pages_of(client: ScriptedClient, resource: Resource):
    return [page async for page in list_pages(client, resource, ResourceDecoder(resource))]


async def events_of(client: ScriptedClient, resource: Resource, version: int | None = None):
    decoder = ResourceDecoder(resource)
    async with watch(client, resource, decoder, resource_version=version, timeout_seconds=300) as events:
        return [event async for event in events]


def body(name: str) -> bytes:
    return recording(name).body


@pytest.mark.parametrize(
    ("resource", "recorded", "names"),
    [
        (SERVICES, "list-services", ["first", "second", "third"]),
        (ENDPOINT_SLICES, "list-endpointslices", ["second-x1"]),
        (PODS, "list-pods-field-selector", []),
    ],
)
async def test_recorded_lists(resource, recorded, names):
    client = ScriptedClient(body(recorded))
    (page,) = await pages_of(client, resource)
    assert [item.metadata.name for item in page.items] == names
    assert page.resource_version in (217, 227)
    assert all(isinstance(item, resource.item) for item in page.items)
    assert client.asked[0]["limit"] == "500"


async def test_recorded_namespaces_and_fields():
    (page,) = await pages_of(ScriptedClient(body("list-namespaces")), NAMESPACES)
    assert "default" in [item.metadata.name for item in page.items]
    (page,) = await pages_of(ScriptedClient(body("list-services")), SERVICES)
    third = page.items[2]
    assert (third.spec.type, third.spec.external_name) == ("ExternalName", "www.example.test")
    assert page.items[1].spec.cluster_ips == ["None"]


async def test_recorded_pages():
    last = msgspec.json.decode(body("list-services-page2"))
    del last["metadata"]["continue"]
    client = ScriptedClient(body("list-services-page1"), body("list-services-page2"), msgspec.json.encode(last))
    pages = await pages_of(client, SERVICES)
    assert [[item.metadata.name for item in page.items] for page in pages] == [["first"], ["second"], ["second"]]
    assert [page.first for page in pages] == [True, False, False]
    token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjE3LCJzdGFydCI6Ii9maXJzdFx1MDAwMCJ9"
    assert [asked.get("continue", "") for asked in client.asked[:2]] == ["", token]


async def test_an_expired_first_page_or_a_refused_token_is_an_error():
    with pytest.raises(ApiStatusError):
        await pages_of(ScriptedClient(ApiStatusError(410, "Expired", "too old")), SERVICES)
    refused = recording("list-services-bad-continue")
    error = status_error(refused.status, refused.body, None)
    with pytest.raises(ApiStatusError, match="continue key is not valid"):
        await pages_of(ScriptedClient(body("list-services-page1"), error), SERVICES)


async def test_recorded_watch():
    client = ScriptedClient(body("watch-services"))
    events = await events_of(client, SERVICES, 217)
    kinds = [type(event).__name__ for event in events]
    assert kinds == ["Added", "Modified", "Deleted", "Bookmark", "Bookmark"]
    versions = [int(event.object.metadata.resource_version) for event in events]
    assert versions == [219, 220, 221, 221, 221]
    assert len(events[1].object.spec.ports) == 2
    assert isinstance(events[2], Deleted)
    assert not events[3].ends_initial_events
    assert client.asked == [
        {
            "path": "/api/v1/services",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "217",
            "timeoutSeconds": "300",
        }
    ]


async def test_recorded_slices():
    events = await events_of(ScriptedClient(body("watch-endpointslices")), ENDPOINT_SLICES, 222)
    assert [type(event) for event in events] == [Modified[Service].__origin__, Modified, Bookmark, Bookmark]
    assert [endpoint.addresses for endpoint in events[0].object.endpoints] == [
        ["10.244.7.1"],
        ["10.244.7.2"],
        ["10.244.7.3"],
    ]
    assert events[1].object.endpoints[0].conditions.ready is False


async def test_recorded_initial_events():
    client = ScriptedClient(body("watchlist-services"))
    events = await events_of(client, SERVICES)
    assert [event.object.metadata.name for event in events[:-1]] == ["first", "second", "third"]
    assert events[-1].ends_initial_events
    assert client.asked[0]["sendInitialEvents"] == "true"
    assert client.asked[0]["resourceVersionMatch"] == "NotOlderThan"
    assert "resourceVersion" not in client.asked[0]


@pytest.mark.parametrize(
    ("recorded", "code", "expired"),
    [("watch-too-old", 410, True), ("watchlist-unsupported", 500, False)],
)
async def test_recorded_error_events(recorded, code, expired):
    with pytest.raises(ApiStatusError) as caught:
        await events_of(ScriptedClient(body(recorded)), SERVICES, 1)
    assert (caught.value.code, caught.value.expired) == (code, expired)


async def test_a_watch_from_the_future_is_recorded_as_empty():
    assert await events_of(ScriptedClient(body("watch-future-rv")), SERVICES, 999) == []


@pytest.mark.parametrize(
    ("recorded", "code", "reason", "message"),
    [
        ("unauthorized", 401, "Unauthorized", "Unauthorized"),
        ("forbidden-anonymous", 403, "Forbidden", 'services is forbidden: User "system:anonymous" cannot list'),
        ("list-not-found", 404, "NotFound", "the server could not find the requested resource"),
        ("bad-label-selector", 400, "BadRequest", "unable to parse requirement: "),
        ("watch-bad-rv", 500, "", 'resourceVersion: Invalid value: "abc"'),
    ],
)
def test_recorded_refusals(recorded, code, reason, message):
    answer = recording(recorded)
    error = status_error(answer.status, answer.body, None)
    assert (error.code, error.reason, error.retry_after) == (code, reason, None)
    assert str(error).startswith(message)


@pytest.mark.parametrize(
    ("code", "body", "header", "text", "pause"),
    [
        (503, b"", None, "the server is currently unable to handle the request", None),
        (429, b"<html>", "3", "the server has received too many requests", 3.0),
        (418, b"\xff\xff", "soon", "unexpected HTTP status 418", None),
        (429, b'{"kind":"Status","message":"m","details":{"retryAfterSeconds":5}}', None, "m", 5.0),
        (500, b'{"kind":"Pod","message":"m"}', "9" * 400, "unexpected HTTP status 500", 999999.0),
        (500, b"[" * 100000, None, "unexpected HTTP status 500", None),
    ],
)
def test_refusals_without_a_status(code, body, header, text, pause):
    error = status_error(code, body, header)
    assert error.code == code
    assert error.retry_after == pause
    assert str(error).startswith(text)


def test_error_events_are_typed():
    failure = ResourceDecoder(SERVICES).event(b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"m"}}')
    assert isinstance(failure, Failure)
    assert failure.object.error().expired


@pytest.mark.parametrize("text", ["", "abc", "-1", "1.5", "٣", "9" * 21, " 1"])
def test_versions_are_numbers(text):
    with pytest.raises(ApiProtocolError, match=r"metadata\.resourceVersion: expected a decimal number"):
        version_number(text)


def test_another_kind_is_refused_but_none_is_not():
    decoder = ResourceDecoder(SERVICES)
    line = b'{"type":"ADDED","object":{"kind":"%s","metadata":{"name":"x"}}}'
    assert decoder.event(line % b"Service").object.metadata.name == "x"
    with pytest.raises(ApiProtocolError, match=r"object\.kind"):
        decoder.event(line % b"Pod")


def test_selectors_and_go_type():
    labelled = Resource("Service", "/p", Service, label_selector="a in (b,c)", field_selector="x!=y")
    assert labelled.selectors() == {"labelSelector": "a in (b,c)", "fieldSelector": "x!=y"}
    assert ENDPOINT_SLICES.go_type == "*v1.EndpointSlice"
    assert PODS.selectors() == {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed,status.phase!=Unknown"}
