"""Who serves the zone may change like anything else: answers about it say what they depend on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from support.chain import FakeNext, make_directive, make_request, make_site, run
from support.objects import endpoint, endpoint_slice, make_index, namespace, port, service
from waypost.cluster.index import Index
from waypost.dispatch.handler import Handler, settled
from waypost.plugins.k8s_external import setup as external_setup
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.wire import addr, consts
from waypost.wire.reply import Reply, failure

OWN = ("10.3.0.1", "fd00:3::1")
SERVICE = service("k/dns", "10.96.0.10", ports=(port(53),), outside=("203.0.113.53",))
SLICE = endpoint_slice("k/dns-1", endpoint(OWN[0]), of="dns")
CHANGES = [
    ("Service", service("k/dns", "10.96.0.11", ports=(port(53),), outside=("203.0.113.54",))),
    ("EndpointSlice", endpoint_slice("k/dns-1", endpoint("10.3.0.9"), of="dns")),
    ("EndpointSlice", endpoint_slice("k/dns-1", endpoint(OWN[0]), of="other")),
    ("EndpointSlice", endpoint_slice("k/dns-2", endpoint(OWN[1]), of="other", kind="IPv6")),
]
QUESTIONS = [
    ("cluster.local.", "NS"),
    ("ns.dns.cluster.local.", "A"),
    ("ns.dns.cluster.local.", "AAAA"),
    ("ext.test.", "NS"),
    ("ns1.dns.ext.test.", "A"),
]


async def chain(index: Index) -> Handler:
    """k8s_external before kubernetes, over one index."""
    site = make_site("cluster.local")
    external_setup(make_directive("k8s_external ext.test"), site)
    local = [packed for packed in map(addr.pack, OWN) if packed is not None]
    site.add(Kubernetes(parse(make_directive("kubernetes cluster.local"), ()), index, local))
    site.add(FakeNext(failure(consts.REFUSED)))
    site.link()
    await run(site.hooks.start)
    assert site.chain is not None
    return site.chain


async def answer(handler: Handler, name: str, qtype: str) -> Reply:
    return await settled(handler.serve(make_request(name, qtype)))


def sections(reply: Reply) -> tuple[object, ...]:
    """What a client sees, but for the SOA's serial, which nothing depends on."""
    return reply.answer, reply.additional


@pytest.mark.parametrize(("kind", "item"), CHANGES)
@pytest.mark.parametrize(("name", "qtype"), QUESTIONS)
@pytest.mark.parametrize("first", [(SERVICE, SLICE), (SLICE,)], ids=["service", "no-service"])
async def test_a_change_of_the_answer_touches_its_keys(
    name: str, qtype: str, kind: str, item: object, first: tuple[object, ...]
) -> None:
    index = make_index(namespace("k"), *first)  # type: ignore[arg-type]
    handler = await chain(index)
    touched: set[bytes] = set()

    def note(keys: Sequence[bytes] | None) -> None:
        assert keys is not None
        touched.update(keys)

    index.subscribe(note)
    before = await answer(handler, name, qtype)
    index.sinks[kind].changed(item)
    after = await answer(handler, name, qtype)
    assert sections(before) == sections(after) or touched & set(before.depends)


async def test_without_own_addresses_there_is_nothing_to_depend_on() -> None:
    handler = Kubernetes(parse(make_directive("kubernetes cluster.local"), ()), make_index(), [])
    reply = await answer(handler, "cluster.local.", "NS")
    assert (reply.answer, reply.depends) == ((), ())
