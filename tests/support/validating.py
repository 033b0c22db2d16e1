"""Kubernetes objects judged by the API's own schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import kubernetes_validate

from waypost.addon.settings import Json

VERSIONS = ("1.28", "1.37")
OTHER_SCHEMAS = ("monitoring.coreos.com/v1", "cilium.io/v2")
"""Of operators: not part of Kubernetes."""


def faults(objects: Iterable[Json]) -> list[str]:
    """What the schemas find, unknown fields included."""
    found = []
    for obj in objects:
        if obj["apiVersion"] in OTHER_SCHEMAS:
            continue
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(obj, version, strict=True)
            except kubernetes_validate.ValidationError as exc:
                found.append(f"{obj['kind']} {obj['metadata']['name']} ({version}): {exc}")
    return found


def by_name(objects: Iterable[Json]) -> dict[tuple[str, str], Any]:
    """Objects by kind and name; each is there once."""
    listed = [((obj["kind"], obj["metadata"]["name"]), obj) for obj in objects]
    found = dict(listed)
    assert len(found) == len(listed)
    return found
