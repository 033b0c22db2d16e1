"""The text of a file to the manifests in it, one problem for each document that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from waypost.manifests import fields, yaml_text
from waypost.manifests.model import GROUP_OF_KIND, KINDS, EndpointSlice, Manifest, Service
from waypost.manifests.problem import FieldError, Problem

DEFAULT_NAMESPACE = "default"

# Both markers may only stand at the start of a line, in quoted and block text too (YAML 1.1 section 9.1).
MARKER = re.compile(r"^(?=---(?:\s|\Z))|^\.\.\.(?:[^\S\n].*)?$\n?", re.MULTILINE)
NO_CONTENT = re.compile(r"(?:[ \t]*(?:#.*)?\r?(?:\n|\Z)|%.*(?:\n|\Z))*")


@dataclass(frozen=True, slots=True)
class Document:
    """One manifest and where it was read: file, document number (from 1), place within a List (`items[3].`)."""

    file: str
    number: int
    place: str
    kind: str
    manifest: Manifest

    @property
    def namespace(self) -> str:
        """Empty for a Namespace, which is in none."""
        return "" if self.kind == "Namespace" else self.manifest.metadata.namespace or DEFAULT_NAMESPACE

    @property
    def name(self) -> str:
        return self.manifest.metadata.name

    def problem(self, field: str, text: str) -> Problem:
        """A problem of this document."""
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return Problem(self.file, self.number, self.place + field, text, f"{self.kind} {named}")


def split(text: str, file: str) -> tuple[list[Document], list[Problem]]:
    """The manifests of a YAML file, or of a JSON file when its name ends in `.json`; Lists are taken apart.

    A document that cannot be read becomes a Problem and the others are kept; kinds that DNS does not need are
    left out. Raises nothing.
    """
    documents: list[Document] = []
    problems: list[Problem] = []
    values = json_values(text) if file.endswith(".json") else yaml_values(text)
    for number, value in values:
        if isinstance(value, str):
            problems.append(Problem(file, number, "", value))
            continue
        for place, item in objects(value):
            try:
                if document := read_object(item, file, number, place):
                    documents.append(document)
            except FieldError as error:
                problems.append(Problem(file, number, place + error.field, error.text, described(item)))
    return documents, problems


@dataclass(frozen=True, slots=True)
class Parsed:
    """The value of one document."""

    value: Any


def yaml_values(text: str) -> Iterator[tuple[int, Parsed | str]]:
    """Number and value of each document, or the text of the error. Documents that hold nothing are skipped."""
    number = 0
    start = 0
    text = text.removeprefix("\ufeff")
    cuts = [match.span() for match in MARKER.finditer(text)]
    for end, following in [*cuts, (len(text), len(text))]:
        chunk, first_line = text[start:end], text.count("\n", 0, start) + 1
        start = following
        if NO_CONTENT.fullmatch(chunk):
            continue
        number += 1
        try:
            yield number, Parsed(yaml_text.load(chunk))
        except yaml_text.YamlError as error:
            yield number, f"line {first_line + error.line - 1}: {error.text}"


def json_values(text: str) -> Iterator[tuple[int, Parsed | str]]:
    """The same for a JSON file, which is one document."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeError) as error:
        yield 1, f"not JSON: {error}"
    except RecursionError:
        yield 1, "not JSON: nested too deep"
    else:
        drop_nulls(value)
        yield 1, Parsed(value)


def drop_nulls(value: Any) -> None:
    """Remove fields that are null, in place: to the API they are absent."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            for key in [key for key, item in node.items() if item is None]:
                del node[key]
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def objects(parsed: Parsed) -> Iterator[tuple[str, Any]]:
    """The object itself, or those of a List (typed Lists name the kind once, for all), each with its place."""
    pending: list[tuple[str, Any]] = [("", parsed.value)]
    while pending:
        place, value = pending.pop()
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or not kind.endswith("List") or not isinstance(value.get("items", []), list):
            yield place, value
            continue
        typed = {"kind": kind.removesuffix("List"), "apiVersion": value.get("apiVersion")} if kind != "List" else {}
        items = [
            (f"{place}items[{index}].", typed | item if isinstance(item, dict) else item)
            for index, item in enumerate(value.get("items", []))
        ]
        pending.extend(reversed(items))


def read_object(value: Any, file: str, number: int, place: str) -> Document | None:
    """The manifest, or None for a kind that DNS does not need. Raises FieldError."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise FieldError("", f"expected a Kubernetes object, got {fields.shown(value)}")
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str):
        raise FieldError("kind", "required" if kind is None else f"expected a string, got {fields.shown(kind)}")
    if kind.endswith("List") and "items" in value and not isinstance(value["items"], list):
        raise FieldError("items", f"expected a list, got {fields.shown(value['items'])}")
    model = KINDS.get(kind)
    if model is None:
        return None
    if not isinstance(version, str):
        raise FieldError(
            "apiVersion", "required" if version is None else f"expected a string, got {fields.shown(version)}"
        )
    if version.rpartition("/")[0] != GROUP_OF_KIND[model]:
        return None
    manifest = fields.read(value, model)
    check(manifest)
    return Document(file, number, place, kind, manifest)


def check(manifest: Manifest) -> None:
    """What one field asks of another. Raises FieldError."""
    if isinstance(manifest, Service) and manifest.spec.type == "ExternalName" and not manifest.spec.external_name:
        raise FieldError("spec.externalName", "required for type ExternalName")
    if isinstance(manifest, EndpointSlice) and manifest.address_type != "FQDN":
        for index, endpoint in enumerate(manifest.endpoints):
            for place, address in enumerate(endpoint.addresses):
                if (text := fields.canonical_address(address)) is None:
                    field = f"endpoints[{index}].addresses[{place}]"
                    raise FieldError(field, f"expected an IP address, got {fields.shown(address)}")
                endpoint.addresses[place] = text


def described(value: Any) -> str:
    """`Kind namespace/name` as far as the object tells."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        return ""
    kind, name, namespace = value.get("kind"), meta["name"], meta.get("namespace", DEFAULT_NAMESPACE)
    return f"{kind} {name}" if kind == "Namespace" else f"{kind} {namespace}/{name}"
