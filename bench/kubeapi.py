"""A large simulated Kubernetes API for `scale.py`: everything encoded beforehand, so that it is never what is measured.

Usage: kubeapi.py PORT SERVICES ENDPOINTS PODS [--lists-only]. Commands on standard input, one a line:

    expire              end every watch, and forget the versions they could go on from
    update RATE SECONDS change that many slices a second, and every 20 ms the one of the Service `probe`

Standard output, JSON lines: `{"ready": bytes}`, `{"first": time}` at the first request, `{"watching": time}` when
slices are watched and all that was there is sent, `{"probe": n, "at": time}` when the address n of `probe` was sent,
`{"updated": events}` at the end. Times are CLOCK_MONOTONIC, in seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import sys
import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

from loads import NAMESPACES

KINDS = {
    "/api/v1/services": ("Service", "v1"),
    "/api/v1/namespaces": ("Namespace", "v1"),
    "/api/v1/pods": ("Pod", "v1"),
    "/apis/discovery.k8s.io/v1/endpointslices": ("EndpointSlice", "discovery.k8s.io/v1"),
}
SLICES = "/apis/discovery.k8s.io/v1/endpointslices"
PROBE_EVERY = 0.02
BLOCK = 64
BURST = 20


def packed(first: int, n: int) -> str:
    """The n-th address of the networks FIRST.0.0.0 and up."""
    return f"{first + n // 2**24}.{n // 65536 % 256}.{n // 256 % 256}.{n % 256}"


def metadata(name: str, namespace: str, version: int, **more: object) -> dict[str, object]:
    """As on a real server, where the managed fields are most of it."""
    managed = {
        "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {f"f:field-{n}": {".": {}} for n in range(24)}},
    }  # fmt: skip
    return {
        "name": name, "namespace": namespace, "uid": f"{random.getrandbits(128):032x}", "resourceVersion": str(version),
        "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": [managed], **more,
    }  # fmt: skip


def service(n: int) -> dict[str, object]:
    """The n-th Service."""
    address = packed(10, n)
    ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
    spec = {"type": "ClusterIP", "clusterIP": address, "clusterIPs": [address], "ports": ports}
    return {"metadata": metadata(f"svc-{n}", f"ns-{n % NAMESPACES}", 1), "spec": spec}


def endpoint_slice(n: int, first: int, count: int, version: int = 1, moved: int = 0) -> dict[str, object]:
    """The slice of the n-th Service; `moved` shifts its last address."""
    namespace = f"ns-{n % NAMESPACES}"
    endpoints = [
        {
            "addresses": [packed(20, first + k) if k < count - 1 or not moved else packed(30, moved)],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "nodeName": f"node-{k}", "zone": "zone-a",
            "targetRef": {"kind": "Pod", "namespace": namespace, "name": f"svc-{n}-6b474476c4-{k:05}", "uid": "0" * 36},
        }
        for k in range(count)
    ]  # fmt: skip
    labels = {"kubernetes.io/service-name": f"svc-{n}", "endpointslice.kubernetes.io/managed-by": "controller"}
    return {
        "metadata": metadata(f"svc-{n}-x7z2p", namespace, version, labels=labels), "addressType": "IPv4",
        "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}], "endpoints": endpoints,
    }  # fmt: skip


def probe_slice(number: int, version: int) -> dict[str, object]:
    """The slice of the Service `probe`, whose address is a number."""
    item = endpoint_slice(0, 0, 1, version)
    meta = metadata("probe-x", "ns-0", version, labels={"kubernetes.io/service-name": "probe"})
    return {**item, "metadata": meta, "endpoints": [{"addresses": [packed(40, number)]}]}


def pod(n: int) -> dict[str, object]:
    """The n-th pod."""
    spec = {"nodeName": "node-1", "containers": [{"name": "c", "image": "registry.example/app:1", "env": []}]}
    status = {"phase": "Running", "podIP": packed(20, n), "podIPs": [{"ip": packed(20, n)}]}
    meta = metadata(f"svc-{n}-6b474476c4-{n:05}", f"ns-{n % NAMESPACES}", 1, labels={"app": f"svc-{n}"})
    return {"metadata": meta, "spec": spec, "status": status}


class Api:
    """The objects as bytes, and the watches that are open, by path."""

    def __init__(self, services: int, endpoints: int, pods: int, *, lists_only: bool) -> None:
        self.each = max(1, endpoints // services)
        self.services = services
        self.version = 2
        self.floor = 0
        self.lists_only = lists_only
        probe = {"metadata": metadata("probe", "ns-0", 1), "spec": {"clusterIP": "None", "clusterIPs": ["None"]}}
        made: dict[str, list[dict[str, object]]] = {
            "/api/v1/services": [service(n) for n in range(services)] + [probe],
            "/api/v1/namespaces": [{"metadata": metadata(f"ns-{n}", "", 1)} for n in range(NAMESPACES)],
            "/api/v1/pods": [pod(n) for n in range(pods)],
            SLICES: [endpoint_slice(n, n * self.each, self.each) for n in range(services)] + [probe_slice(0, 1)],
        }
        self.items = {path: [encode(item) for item in items] for path, items in made.items()}
        self.watches: dict[str, set[asyncio.StreamWriter]] = {path: set() for path in KINDS}
        self.first = True
        self._pages: dict[tuple[str, int, int, bool], bytes] = {}

    def page(self, path: str, start: int, limit: int, *, compress: bool) -> bytes:
        """A page of a list, kept once made."""
        key = (path, start, limit, compress)
        if key not in self._pages:
            items, end = self.items[path], start + limit if limit else len(self.items[path])
            more = f',"continue":"{end}"' if end < len(items) else ""
            head = f'{{"kind":"{KINDS[path][0]}List","apiVersion":"{KINDS[path][1]}",'
            head += f'"metadata":{{"resourceVersion":"{self.version}"{more}}},"items":['
            body = head.encode() + b",".join(items[start:end]) + b"]}"
            self._pages[key] = gzip.compress(body, 1) if compress else body
        return self._pages[key]

    def initial_events(self, path: str) -> Iterator[bytes]:
        """Lines in blocks; the last is the bookmark."""
        items = self.items[path]
        for start in range(0, len(items), BLOCK):
            yield b"".join(event(b"ADDED", path, item) for item in items[start : start + BLOCK])
        meta = {"resourceVersion": str(self.version), "annotations": {"k8s.io/initial-events-end": "true"}}
        yield event(b"BOOKMARK", path, encode({"metadata": meta}))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if self.first:
                    self.first = False
                    say(first=time.monotonic())
                url = urlsplit(head.split(b" ", 2)[1].decode())
                query = {name: values[0] for name, values in parse_qs(url.query).items()}
                if query.get("watch"):
                    await self.watch(url.path, query, writer)
                    return
                gzipped = b"gzip" in head.lower().partition(b"accept-encoding:")[2].partition(b"\r\n")[0]
                start, limit = int(query.get("continue", 0)), int(query.get("limit", 0))
                body = self.page(url.path, start, limit, compress=gzipped)
                encoding = b"Content-Encoding: gzip\r\n" if gzipped else b""
                writer.write(b"HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n" % (encoding, len(body)) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def watch(self, path: str, query: dict[str, str], writer: asyncio.StreamWriter) -> None:
        """Initial events if asked for, then what `update` sends."""
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        initial = "sendInitialEvents" in query
        if (initial and self.lists_only) or (not initial and int(query["resourceVersion"]) < self.floor):
            code, reason = (500, "InternalError") if initial else (410, "Expired")
            failure = {"kind": "Status", "status": "Failure", "message": reason, "reason": reason, "code": code}
            writer.write(chunk(event(b"ERROR", path, encode(failure), bare=True)) + b"0\r\n\r\n")
            await writer.drain()
            return
        for block in self.initial_events(path) if initial else ():
            writer.write(chunk(block))
            await writer.drain()
        self.watches[path].add(writer)
        if path == SLICES:
            say(watching=time.monotonic())
        try:
            await writer.wait_closed()
        finally:
            self.watches[path].discard(writer)

    def expire(self) -> None:
        """End every watch."""
        self.version += 1
        self.floor = self.version
        for writers in self.watches.values():
            for writer in list(writers):
                writer.write(b"0\r\n\r\n")
                writer.close()
        self._pages.clear()

    async def update(self, rate: int, seconds: float) -> None:
        """Change slices at a steady rate."""
        rng = random.Random(3)
        started, due, sent, probes = time.monotonic(), 0, 0, 0
        while (now := time.monotonic() - started) < seconds:
            # Who was not given the processor in time does not make up for it by a burst that no cluster sends.
            for _ in range(min(int(now * rate) - due, BURST)):
                n = rng.randrange(self.services)
                self.send(n, endpoint_slice(n, n * self.each, self.each, self.version + 1, rng.randrange(1, 2**22)))
                sent += 1
            due = int(now * rate)
            if now >= probes * PROBE_EVERY:
                probes += 1
                self.send(self.services, probe_slice(probes, self.version + 1))
                say(probe=probes, at=time.monotonic())
            await asyncio.sleep(0.001)
        say(updated=sent)

    def send(self, place: int, item: dict[str, object]) -> None:
        """Replace a slice and tell it to who watches."""
        self.version += 1
        self.items[SLICES][place] = body = encode(item)
        for writer in self.watches[SLICES]:
            writer.write(chunk(event(b"MODIFIED", SLICES, body)))


def encode(item: object) -> bytes:
    """JSON."""
    return json.dumps(item, separators=(",", ":")).encode()


def event(type_: bytes, path: str, item: bytes, *, bare: bool = False) -> bytes:
    """A line of a watch."""
    kind, version = KINDS[path]
    head = b"{" if bare else f'{{"kind":"{kind}","apiVersion":"{version}",'.encode()
    return b'{"type":"%s","object":%s%s}\n' % (type_, head, item[1:])


def chunk(data: bytes) -> bytes:
    """A chunk of an HTTP answer."""
    return b"%x\r\n%s\r\n" % (len(data), data)


def say(**fact: float) -> None:
    """A line for the driver."""
    print(json.dumps(fact), flush=True)


async def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser()
    for name in ("port", "services", "endpoints", "pods"):
        parser.add_argument(name, type=int)
    parser.add_argument("--lists-only", action="store_true")
    options = parser.parse_args()
    api = Api(options.services, options.endpoints, options.pods, lists_only=options.lists_only)
    commands = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    server = await asyncio.start_server(api.serve, "127.0.0.1", options.port)
    say(ready=sum(map(len, (item for items in api.items.values() for item in items))))
    while words := (await commands.readline()).decode().split():
        if words[0] == "expire":
            api.expire()
        else:
            await api.update(int(words[1]), float(words[2]))
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
