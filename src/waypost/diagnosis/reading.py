"""Decoded YAML or JSON to the objects that the checks look at."""

from __future__ import annotations

from typing import Any

from waypost.diagnosis.objects import CLUSTER_WIDE, GROUP_OF_KIND, KINDS, Object
from waypost.manifests import fields
from waypost.manifests.documents import DEFAULT_NAMESPACE
from waypost.manifests.problem import FieldError


def read_object(value: Any) -> Object | None:
    """The object, None for a kind that no check looks at. Raises FieldError for a field that does not fit."""
    if not isinstance(value, dict):
        raise FieldError("", f"expected a Kubernetes object, got {fields.shown(value)}")
    model = KINDS.get(value["kind"]) if isinstance(value.get("kind"), str) else None
    version = value.get("apiVersion")
    if model is None or not isinstance(version, str) or version.rpartition("/")[0] != GROUP_OF_KIND[model]:
        return None
    found: Object = fields.read(value, model)
    if not found.metadata.namespace and model not in CLUSTER_WIDE:
        found.metadata.namespace = DEFAULT_NAMESPACE
    return found


def described(obj: Object) -> str:
    """`Kind namespace/name`, as evidence names it."""
    meta = obj.metadata
    named = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    return f"{type(obj).__name__} {named}"
