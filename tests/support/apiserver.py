"""A simulated Kubernetes API server for tests: LIST and WATCH over HTTP on loopback, with faults. In a thread.

    with ApiServer(objects) as server:
        server.put("services", {...}); server.delete("services", "ns", "name"); server.cut()

Serves what `KINDS` names, cluster-wide and per namespace, with limit and continue, label selectors, the pods' field
selector on status.phase, resource versions, bookmarks, initial events, timeoutSeconds, and 410 for forgotten versions.
What it says follows the recordings of a real API server in tests/data/kube-api.
"""

from __future__ import annotations

import contextlib
import copy
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.apistore import KINDS, PLURAL, REFUSED_INITIAL_EVENTS, Change, Json, Key, Store, key_of, status
from support.selection import matcher


class ApiServer:
    """The server and its remote control. Use it as a context manager."""

    def __init__(
        self,
        objects: Iterable[Json] = (),
        *,
        bookmark_every: float = 60.0,
        tls: ssl.SSLContext | None = None,
        handler: type[Handler] | None = None,
    ) -> None:
        """`handler` answers more than LIST and WATCH."""
        self.store = Store(bookmark_every=bookmark_every)
        for obj in objects:
            self.put(PLURAL[obj["kind"]], obj)
        bound = type("BoundHandler", (handler or Handler,), {"store": self.store})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), bound, bind_and_activate=True)
        self._http.daemon_threads = True
        self._scheme = "http" if tls is None else "https"
        if tls is not None:
            self._http.handle_error = lambda *_: None  # type: ignore[method-assign]  # who does not trust us hangs up
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> ApiServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self._scheme}://127.0.0.1:{self._http.server_address[1]}"

    @property
    def requests(self) -> list[str]:
        """Path and query of every GET so far."""
        return self.store.requests

    def put(self, plural: str, obj: Json) -> None:
        """Adds or replaces an object; a copy is kept, with the next resource version."""
        store = self.store
        with store.changed:
            store.version += 1
            kept = copy.deepcopy(obj)
            meta = kept.setdefault("metadata", {})
            meta["resourceVersion"] = str(store.version)
            key = (meta.get("namespace", ""), meta["name"])
            type_ = "MODIFIED" if key in store.objects[plural] else "ADDED"
            store.objects[plural][key] = kept
            store.note(plural, type_, kept)

    def delete(self, plural: str, namespace: str, name: str) -> None:
        """Deletes an object."""
        store = self.store
        with store.changed:
            store.version += 1
            gone = copy.deepcopy(store.objects[plural].pop((namespace, name)))
            gone["metadata"]["resourceVersion"] = str(store.version)
            store.note(plural, "DELETED", gone)

    def fault(self, **faults: Any) -> None:
        """Sets fields of `Faults`."""
        with self.store.changed:
            for name, value in faults.items():
                getattr(self.store.faults, name)
                setattr(self.store.faults, name, value)
            self.store.changed.notify_all()

    def cut(self) -> None:
        """Ends every watch now."""
        with self.store.changed:
            self.store.cuts += 1
            self.store.changed.notify_all()

    def expire(self) -> None:
        """Forgets all history: the next watch from an older version gets 410."""
        with self.store.changed:
            self.store.history.clear()
            self.store.version += 1
            self.store.floor = self.store.version


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    store: Store

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests read answers, not logs."""

    def handle(self) -> None:
        """All requests of the connection; the client may go at any time."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """LIST and WATCH."""
        store, faults = self.store, self.store.faults
        store.requests.append(self.path)
        if faults.delay:
            time.sleep(faults.delay)
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        if faults.token and self.headers.get("Authorization") != f"Bearer {faults.token}":
            return self.send_json(401, status(401, "Unauthorized", "Unauthorized"))
        if code := faults.refuse:
            return self.send_json(code, status(code, "Refused", "refused on request"))
        for plural, kind in KINDS.items():
            scope = r"(?:/namespaces/([^/]+))?" if kind.namespaced else "()"
            if match := re.fullmatch(f"{re.escape(kind.prefix)}{scope}/{plural}", url.path):
                if plural == faults.forbidden:
                    return self.send_json(403, status(403, "Forbidden", f"{plural} is forbidden: no rights"))
                return self.resource(plural, match[1] or "", query)
        return self.send_body(404, b"404 page not found\n", "text/plain; charset=utf-8")

    def resource(self, plural: str, namespace: str, query: Json) -> None:
        """One of `KINDS`."""
        try:
            match = matcher(plural, namespace, query)
        except ValueError as error:
            return self.send_json(400, status(400, "BadRequest", f"unable to parse requirement: {error}"))
        if query.get("watch") in ("true", "1"):
            return self.watch(plural, match, query)
        return self.list(plural, match, query)

    def list(self, plural: str, match: Callable[[Json], bool], query: Json) -> None:
        """A LIST."""
        store, faults = self.store, self.store.faults
        if faults.body:
            body, faults.body = faults.body, b""
            return self.send_body(200, body, "application/json")
        with store.changed:
            items = [obj for _, obj in sorted(store.objects[plural].items()) if match(obj)]
            version = store.version
        start = 0
        if "continue" in query:
            if faults.expire_continue:
                faults.expire_continue -= 1
                return self.send_json(410, status(410, "Expired", "The provided continue parameter is too old"))
            token = re.fullmatch(r"at-(\d+)-(\d+)", query["continue"])
            if not token:
                return self.send_json(400, status(400, "BadRequest", "continue key is not valid"))
            start, version = int(token[1]), int(token[2])
        meta: Json = {"resourceVersion": "1" if faults.stale_lists else str(version)}
        limit = int(query.get("limit") or 0)
        end = start + limit if limit else len(items)
        if end < len(items):
            meta |= {"continue": f"at-{end}-{version}", "remainingItemCount": len(items) - end}
        shown = [{k: v for k, v in obj.items() if k not in ("kind", "apiVersion")} for obj in items[start:end]]
        kind = KINDS[plural]
        head = {"kind": f"{kind.name}List", "apiVersion": kind.version}
        return self.send_json(200, {**head, "metadata": meta, "items": shown})

    def watch(self, plural: str, match: Callable[[Json], bool], query: Json) -> None:
        """A WATCH."""
        store = self.store
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        with store.changed:
            store.watches += 1
        try:
            for line in self.lines(plural, match, query):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self.close_connection = True
            with store.changed:
                store.watches -= 1

    def lines(self, plural: str, match: Callable[[Json], bool], query: Json) -> Iterator[bytes]:
        """The events of a WATCH as JSON lines."""
        store, faults, born = self.store, self.store.faults, self.store.cuts
        start = int(query.get("resourceVersion") or 0)
        initial = query.get("sendInitialEvents") == "true"
        if initial and faults.no_initial_events:
            yield line("ERROR", status(500, "InternalError", REFUSED_INITIAL_EVENTS))
            return
        if faults.close_at_once:
            faults.close_at_once -= 1
            return
        with store.changed:
            known = [obj for _, obj in sorted(store.objects[plural].items()) if match(obj)]
            floor, now = store.floor, store.version
        if not initial and start < floor:
            yield line("ERROR", status(410, "Expired", f"too old resource version: {start} ({floor})"))
            return
        if initial or not start:
            start = now
            for obj in known:
                yield self.event("ADDED", plural, obj)
        if initial:
            yield self.bookmark(plural, start, {"k8s.io/initial-events-end": "true"})
        end = time.monotonic() + float(query.get("timeoutSeconds") or 1800)
        yield from self.changes(plural, match, start, end, born, {key_of(obj) for obj in known})

    def changes(
        self, plural: str, match: Callable[[Json], bool], at: int, end: float, born: int, shown: set[Key]
    ) -> Iterator[bytes]:
        """What happens after version `at`, until `end` (monotonic) or a cut."""
        store, faults = self.store, self.store.faults
        quiet = time.monotonic()
        while time.monotonic() < end and store.cuts == born:
            new, at = self.news(plural, at)
            if faults.garbage:
                garbage, faults.garbage = faults.garbage, b""
                yield garbage
            for change in reversed(new) if faults.backwards else new:
                key, type_ = key_of(change.object), change.type
                if not match(change.object):
                    if key not in shown:
                        continue
                    type_ = "DELETED"  # it left the selector: the watcher sees it go
                elif type_ == "MODIFIED" and key not in shown:
                    type_ = "ADDED"
                (shown.discard if type_ == "DELETED" else shown.add)(key)
                yield self.event(type_, plural, change.object) * (1 + faults.twice)
            if not faults.freeze and time.monotonic() - quiet >= store.bookmark_every:
                quiet = time.monotonic()
                yield self.bookmark(plural, at)
        if store.cuts == born and not faults.freeze:
            yield self.bookmark(plural, at)

    def news(self, plural: str, after: int) -> tuple[list[Change], int]:
        """History of one kind after a version, and the version it reaches to; nothing while frozen. May wait."""
        store = self.store

        def news() -> list[Change]:
            return [change for change in store.history if change.version > after and change.plural == plural]

        with store.changed:
            if store.faults.freeze or not (new := news()):
                store.changed.wait(min(0.05, store.bookmark_every))
                new = news()
            return ([], after) if store.faults.freeze else (new, store.version)

    def event(self, type_: str, plural: str, obj: Json) -> bytes:
        """An event about an object."""
        kind = KINDS[plural]
        return line(type_, {"kind": kind.name, "apiVersion": kind.version, **obj})

    def bookmark(self, plural: str, version: int, annotations: Json | None = None) -> bytes:
        """A bookmark."""
        meta: Json = {"resourceVersion": str(version)}
        meta |= {"annotations": annotations} if annotations else {}
        return self.event("BOOKMARK", plural, {"metadata": meta, "spec": {}})

    def send_json(self, code: int, obj: Json) -> None:
        """An answer in JSON."""
        self.send_body(code, json.dumps(obj, separators=(",", ":")).encode(), "application/json")

    def send_body(self, code: int, body: bytes, content_type: str) -> None:
        """A whole answer."""
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        if code >= 400 and self.store.faults.retry_after:
            self.send_header("Retry-After", str(self.store.faults.retry_after))
        self.end_headers()
        self.wfile.write(body)


def line(type_: str, obj: Json) -> bytes:
    """A watch event on the wire."""
    return json.dumps({"type": type_, "object": obj}, separators=(",", ":")).encode() + b"\n"
