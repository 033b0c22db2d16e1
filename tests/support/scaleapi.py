"""A simulated API server for the autoscaler: nodes to watch, and a ConfigMap, scales, leases and events to change."""

from __future__ import annotations

import json
import threading
from typing import Any

from support.apiserver import ApiServer, Handler
from support.apistore import Json, status

_MERGE = "application/merge-patch+json"


def api_node(name: str, cpu: str = "4", *, ready: str = "True", cordoned: bool = False, **labels: str) -> Json:
    """A node; `ready` is the status of its condition."""
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {"allocatable": {"cpu": cpu}, "conditions": [{"type": "Ready", "status": ready}]},
    }


class ScaleApi(ApiServer):
    """`objects` maps paths to objects; `log` holds method and path of each request that was not a GET."""

    def __init__(self, *nodes: Json) -> None:
        self.objects: dict[str, Json] = {}
        self.log: list[tuple[str, str]] = []
        self.refused: dict[tuple[str, str], int] = {}
        """Answer method and path with this status."""
        self.lock = threading.Lock()
        self.versions = 0
        super().__init__(nodes, handler=type("ScaleHandler", (ScaleHandler,), {"api": self}))

    def set(self, path: str, obj: Json) -> None:
        """Put an object there, with the next resource version."""
        with self.lock:
            self.versions += 1
            meta = {**obj.get("metadata", {}), "resourceVersion": str(self.versions)}
            self.objects[path] = {**obj, "metadata": meta}

    def add_target(self, path: str, replicas: int) -> None:
        """A scale at `path` (`.../deployments/coredns/scale`)."""
        self.set(path, {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": {"replicas": replicas}})

    def replicas(self, path: str) -> int:
        """What it asks for now."""
        return int(self.objects[path]["spec"]["replicas"])

    def events(self, namespace: str) -> list[Json]:
        """The events made there."""
        prefix = f"/api/v1/namespaces/{namespace}/events/"
        return [obj for path, obj in self.objects.items() if path.startswith(prefix)]


class ScaleHandler(Handler):
    """Single objects by their path; all else as it was."""

    api: ScaleApi

    def do_GET(self) -> None:  # noqa: N802  # the name is http.server\'s
        """One object, or LIST and WATCH."""
        if self.path.partition("?")[0].endswith("/nodes"):
            return super().do_GET()
        with self.api.lock:
            found = self.api.objects.get(self.path)
            refused = self.api.refused.get(("GET", self.path))
        if refused:
            return self.send_json(refused, status(refused, "Refused", f"GET {self.path} is refused"))
        if found is None:
            return self.send_json(404, status(404, "NotFound", f"{self.path} not found"))
        return self.send_json(200, found)

    def do_POST(self) -> None:  # noqa: N802  # the name is http.server\'s
        """A new object."""
        value = self._body("application/json")
        self._change("POST", f"{self.path}/{value['metadata']['name']}", lambda old: None if old else value)

    def do_PUT(self) -> None:  # noqa: N802  # the name is http.server\'s
        """An object as a whole, if nobody was faster."""
        value = self._body("application/json")
        version = value["metadata"].get("resourceVersion")

        def replace(old: Json | None) -> Json | None:
            return value if old is not None and version in (None, old["metadata"]["resourceVersion"]) else None

        self._change("PUT", self.path, replace)

    def do_PATCH(self) -> None:  # noqa: N802  # the name is http.server\'s
        """Replicas of a scale."""
        value = self._body(_MERGE)
        self._change("PATCH", self.path, lambda old: {**old, "spec": {**old["spec"], **value["spec"]}} if old else None)

    def _body(self, kind: str) -> Json:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Type"] == kind
        return dict(json.loads(text))

    def _change(self, method: str, path: str, change: Any) -> None:
        api = self.api
        api.log.append((method, path))
        if refused := api.refused.get((method, path)):
            return self.send_json(refused, status(refused, "Refused", f"{method} {path} is refused"))
        with api.lock:
            new = change(api.objects.get(path))
        if new is None:
            return self.send_json(409, status(409, "Conflict", "somebody was faster"))
        api.set(path, new)
        return self.send_json(201 if method == "POST" else 200, api.objects[path])
