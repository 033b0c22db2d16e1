"""Whatever happens to a cluster and to the watches of it: once it is quiet, every name answers as the objects say.

The real reflectors and the real plugin, between a simulated API in memory and an independent model. Names that once
were are asked for as well as those that are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from itertools import product
from random import Random
from typing import Any

import dns.message
import dns.reversename
import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from support.asking import texts
from support.chain import FakeNext, make_directive, make_request
from support.clustermodel import ZONE, Answer, ClusterModel, dashed
from support.kube import MemoryLog
from waypost.cluster.index import Index
from waypost.dispatch.request import Request
from waypost.kube.errors import ApiStatusError, ApiUnreachable
from waypost.kube.listwatch import ENDPOINT_SLICES, NAMESPACES, PODS, SERVICES
from waypost.kube.reflector import Reflector
from waypost.plugins.kubernetes.config import parse
from waypost.plugins.kubernetes.handler import Kubernetes
from waypost.wire import consts
from waypost.wire.fit import pack
from waypost.wire.reply import Reply, failure

RESOURCES = {resource.kind: resource for resource in (SERVICES, ENDPOINT_SLICES, PODS, NAMESPACES)}
SPACES, NAMES, LABELS = ("a", "b"), ("s", "t"), (None, "h")
CLUSTER_IPS = ("10.96.0.1", "10.96.0.2", "fd00:96::1")
ADDRESSES = ("10.0.0.1", "10.0.0.2", "fd00::1", "fd00:1::")
PORTS = ("http", "dns")
EXPIRED = ApiStatusError(410, "Expired", "too old")

space, name = st.sampled_from(SPACES), st.sampled_from(NAMES)
ports = st.lists(st.sampled_from(PORTS), max_size=2, unique=True)
endpoint = st.fixed_dictionaries(
    {
        "addresses": st.lists(st.sampled_from(ADDRESSES), min_size=1, max_size=1),
        "conditions": st.sampled_from([{}, {"ready": True}, {"ready": False}]),
        "hostname": st.sampled_from(LABELS),
    }
)


class Stream:
    """One kind as the API server tells it: what is, what was told, and what is still to be told."""

    def __init__(self, kind: str, model: ClusterModel) -> None:
        self.kind = kind
        self.model = model
        self.told: list[bytes] = []
        self.pending: list[bytes | Exception | None] = []
        self.news = asyncio.Event()
        self.idle = asyncio.Event()

    def page(self, version: int) -> bytes:
        """Everything in one page."""
        items = list(self.model.objects[self.kind].values())
        head = {"kind": f"{self.kind}List", "metadata": {"resourceVersion": str(version)}}
        return msgspec.json.encode({**head, "items": items})

    async def lines(self) -> AsyncIterator[bytes]:
        """A watch: what is pending, until None (its end) or an error."""
        while True:
            while self.pending:
                step = self.pending.pop(0)
                if isinstance(step, Exception):
                    raise step
                if step is None:
                    return
                self.told.append(step)
                yield step
            self.news.clear()
            self.idle.set()
            await self.news.wait()


class Api:
    """The client of all reflectors. `version` is the cluster's."""

    def __init__(self, model: ClusterModel) -> None:
        self.version = 1
        self.streams = {RESOURCES[kind].path: Stream(kind, model) for kind in RESOURCES}

    async def get_json_bytes(self, path: str, params: Mapping[str, str]) -> bytes:
        return self.streams[path].page(self.version)

    @asynccontextmanager
    async def stream_lines(self, path: str, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        lines = self.streams[path].lines()
        try:
            yield lines
        finally:
            await lines.aclose()


class Cluster(RuleBasedStateMachine):
    """Rules change objects, spoil the streams, or wait until all was told and compare."""

    def __init__(self) -> None:
        super().__init__()
        self.model = ClusterModel()
        self.api = Api(self.model)
        self.loop = asyncio.new_event_loop()
        self.now, self.changes = 0.0, 0
        self.log = MemoryLog()
        self.lost = False
        self.index = Index(lambda: 0.0, kinds=RESOURCES)
        self.index.subscribe(lambda keys: setattr(self, "changes", self.changes + 1))
        config = parse(make_directive("kubernetes cluster.local in-addr.arpa ip6.arpa {\npods verified\n}"), ())
        self.handler = Kubernetes(config, self.index, [])
        self.handler.next = FakeNext(failure(consts.REFUSED))
        self.tasks = [self.loop.create_task(self.reflector(kind).run()) for kind in RESOURCES]

    def reflector(self, kind: str) -> Reflector[Any]:
        return Reflector(
            RESOURCES[kind],
            self.api,
            self.index.sinks[kind],
            log=self.log,
            initial_events=False,
            clock=lambda: self.now,
            sleep=lambda seconds: asyncio.sleep(0),
            rng=Random(1),
            changes=lambda: self.changes,
        )

    def teardown(self) -> None:
        try:
            self.compare()
        finally:
            for task in self.tasks:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*self.tasks, return_exceptions=True))
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()

    # What happens to the cluster

    def put(self, kind: str, namespace: str, own: str, *, lose: bool = False, **fields: Any) -> None:
        """Create or replace an object; a lost change reaches nobody by a watch."""
        self.api.version += 1
        meta = {"name": own, "namespace": namespace, "resourceVersion": str(self.api.version)}
        obj = {"metadata": meta | fields.pop("metadata", {}), **fields}
        known = self.model.objects[kind]
        type_ = "MODIFIED" if (namespace, own) in known else "ADDED"
        known[namespace, own] = obj
        self.tell(kind, type_, obj, lose=lose)

    def drop(self, kind: str, namespace: str, own: str, *, lose: bool = False) -> None:
        obj = self.model.objects[kind].pop((namespace, own), None)
        if obj is not None:
            self.api.version += 1
            meta = obj["metadata"] | {"resourceVersion": str(self.api.version)}
            self.tell(kind, "DELETED", obj | {"metadata": meta}, lose=lose)

    def tell(self, kind: str, type_: str, obj: dict[str, Any], *, lose: bool = False) -> None:
        self.lost |= lose
        if not lose:
            line = msgspec.json.encode({"type": type_, "object": {"kind": kind, **obj}})
            self.stream(kind).pending.append(line)

    def stream(self, kind: str) -> Stream:
        return self.api.streams[RESOURCES[kind].path]

    @rule(own=space, there=st.booleans())
    def namespace(self, own: str, there: bool) -> None:
        self.put("Namespace", "", own) if there else self.drop("Namespace", "", own)

    @rule(
        namespace=space,
        own=name,
        addresses=st.lists(st.sampled_from(CLUSTER_IPS), max_size=2, unique=True),
        numbers=ports,
        lose=st.sampled_from([False] * 5 + [True]),
    )
    def service(self, namespace: str, own: str, addresses: list[str], numbers: list[str], lose: bool) -> None:
        """An address belongs to one Service at a time, as the API server sees to."""
        taken = {
            address
            for key, item in self.model.objects["Service"].items()
            if key != (namespace, own)
            for address in item["spec"].get("clusterIPs", ())
        }
        free = [address for address in addresses if address not in taken]
        self.put("Service", namespace, own, lose=lose, spec=service_spec(free or ["None"], numbers))

    @rule(namespace=space, own=name)
    def external_service(self, namespace: str, own: str) -> None:
        self.put("Service", namespace, own, spec={"type": "ExternalName", "externalName": "www.example.org."})

    @rule(
        namespace=space,
        own=st.sampled_from(["s-1", "s-2", "t-1"]),
        of=st.sampled_from(["s", "t", ""]),
        endpoints=st.lists(endpoint, max_size=3),
        numbers=ports,
        lose=st.sampled_from([False] * 5 + [True]),
    )
    def slice(self, namespace: str, own: str, of: str, endpoints: list[Any], numbers: list[str], lose: bool) -> None:
        labels = {"kubernetes.io/service-name": of} if of else {}
        self.put(
            "EndpointSlice", namespace, own, lose=lose,
            metadata={"labels": labels}, endpoints=endpoints, ports=port_list(numbers or ["http"]),
        )  # fmt: skip

    @rule(namespace=space, own=name, address=st.sampled_from(ADDRESSES))
    def pod(self, namespace: str, own: str, address: str) -> None:
        self.put("Pod", namespace, own, status={"podIP": address})

    @rule(
        key=st.one_of(
            st.tuples(st.sampled_from(["Service", "Pod"]), space, name),
            st.tuples(st.just("EndpointSlice"), space, st.sampled_from(["s-1", "s-2", "t-1"])),
        ),
        lose=st.sampled_from([False] * 5 + [True]),
    )
    def delete(self, key: tuple[str, str, str], lose: bool) -> None:
        self.drop(*key, lose=lose)

    # What happens to the watches

    @rule(kind=st.sampled_from(list(RESOURCES)), which=st.integers(0, 5))
    def repeat(self, kind: str, which: int) -> None:
        """An old event once more."""
        stream = self.stream(kind)
        if stream.told:
            stream.pending.append(stream.told[-1 - which % len(stream.told)])

    @rule(
        kind=st.sampled_from(list(RESOURCES)),
        what=st.sampled_from([None, ApiUnreachable("cut"), ApiStatusError(503, "", "busy"), b'{"type":"NONSENSE"}']),
    )
    def end_watch(self, kind: str, what: bytes | Exception | None) -> None:
        """The next watch goes on; after nonsense everything is listed again, and nothing more is to be told."""
        stream = self.stream(kind)
        if isinstance(what, bytes):
            self.expire(kind, what)
        else:
            stream.pending.append(what)

    @rule(kind=st.sampled_from(list(RESOURCES)))
    def expire(self, kind: str, error: bytes | Exception = EXPIRED) -> None:
        """Events that were not told yet come by a list instead."""
        stream = self.stream(kind)
        stream.pending = [error]

    # What must hold

    @precondition(lambda self: self.api.version % 4 == 0)
    @rule()
    def compare(self) -> None:
        """All is told; what was lost is found by an audit."""
        self.settle()
        if self.lost:
            self.lost = False
            self.now += 400.0
            for kind in RESOURCES:
                meta = {"resourceVersion": str(self.api.version)}
                self.stream(kind).pending.append(
                    msgspec.json.encode({"type": "BOOKMARK", "object": {"kind": kind, "metadata": meta}})
                )
            self.settle()
        wrong = {}
        for question, wanted in self.questions().items():
            found = self.ask(*question)
            if found != wanted:
                wrong[question] = (found, wanted)
        assert not wrong, (wrong, self.log.errors)

    def settle(self) -> None:
        async def quiet() -> None:
            for stream in self.api.streams.values():
                stream.idle.clear()
                stream.news.set()
            for stream in self.api.streams.values():
                await stream.idle.wait()
            for _ in range(30):
                await asyncio.sleep(0)

        self.loop.run_until_complete(asyncio.wait_for(quiet(), 20))

    def questions(self) -> dict[tuple[str, str], Answer]:
        """Every name that can ever be, with the model's answer."""
        model = self.model
        asked: dict[tuple[str, str], Answer] = {}
        for namespace, own, qtype in product(SPACES, NAMES, ("A", "AAAA", "SRV", "CNAME")):
            place = f"{own}.{namespace}.svc.{ZONE}"
            item = model.objects["Service"].get((namespace, own))
            outward = item is not None and item["spec"]["type"] == "ExternalName"
            if not outward or qtype == "CNAME":
                asked[place, qtype] = model.service(namespace, own, qtype)
            for label in ("h", *map(dashed, ADDRESSES)):
                asked[f"{label}.{place}", qtype] = model.service(namespace, own, qtype, endpoint=label)
            for port in (*PORTS, "none"):
                asked[f"_{port}._tcp.{place}", qtype] = model.service(namespace, own, qtype, port=port)
        for address in (*CLUSTER_IPS, *ADDRESSES):
            asked[dns.reversename.from_address(address).to_text(), "PTR"] = model.reverse(address)
            for namespace, qtype in product(SPACES, ("A", "AAAA")):
                label = str(address).replace(".", "-").replace(":", "-")
                asked[f"{label}.{namespace}.pod.{ZONE}", qtype] = model.pod(namespace, address, qtype)
        return asked

    def ask(self, qname: str, qtype: str) -> frozenset[str]:
        request = question(qname, qtype)
        reply = self.handler.serve(request)
        assert isinstance(reply, Reply)
        return judged(pack(request.query, reply, datagram=False))


@cache
def question(qname: str, qtype: str) -> Request:
    return make_request(qname, qtype, datagram=False)


@cache
def judged(wire: bytes) -> frozenset[str]:
    message = dns.message.from_wire(wire)
    if message.rcode():
        return frozenset({dns.rcode.to_text(message.rcode())})
    return frozenset(text.split(None, 3)[3] for text in texts(message.answer)) or frozenset({"NODATA"})


def service_spec(addresses: list[str], numbers: list[str]) -> dict[str, Any]:
    return {"type": "ClusterIP", "clusterIP": addresses[0], "clusterIPs": addresses, "ports": port_list(numbers)}


def port_list(numbers: list[str]) -> list[dict[str, Any]]:
    return [{"name": each, "port": 80 + PORTS.index(each), "protocol": "TCP"} for each in numbers]


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=50, stateful_step_count=50, deadline=None)
