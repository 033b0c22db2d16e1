"""A simulated API server for `waypost doctor`: every kind that it lists, the version, and logs of containers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.parse import urlsplit

from support.apiserver import ApiServer, Handler
from support.apistore import PLURAL, Json, status
from waypost.diagnosis.objects import KINDS
from waypost.doctor.resources import RESOURCES


class DoctorApi(ApiServer):
    """`answers` holds bodies by path, next to what the simulated API server lists; `refused` answers paths by 403."""

    def __init__(self, objects: Iterable[Json], namespace: str = "kube-system") -> None:
        self.answers: dict[str, bytes] = {"/version": b'{"gitVersion": "v1.36.1"}'}
        self.refused: set[str] = set()
        given = list(objects)
        for name, kind in KINDS.items():
            if name not in PLURAL or RESOURCES[kind].near:
                items = [each for each in given if each["kind"] == name]
                body = {"kind": f"{name}List", "apiVersion": "v1", "metadata": {}, "items": items or None}
                self.answers[RESOURCES[kind].path(namespace)] = json.dumps(body).encode()
        kept = [each for each in given if each["kind"] in PLURAL]
        super().__init__(kept, handler=type("DoctorHandler", (DoctorHandler,), {"api": self}))


class DoctorHandler(Handler):
    """Whole answers by path; all else as it was."""

    api: DoctorApi

    def do_GET(self) -> None:  # noqa: N802
        """One of the answers, or a LIST."""
        path = urlsplit(self.path).path
        if path in self.api.refused:
            return self.send_json(403, status(403, "Forbidden", f"{path} is forbidden: no rights"))
        if not self.store.faults.refuse and path in self.api.answers:
            self.store.requests.append(self.path)
            return self.send_body(200, self.api.answers[path], "application/json")
        return super().do_GET()
