"""What is wrong with a manifest, and where."""

from __future__ import annotations

from dataclasses import dataclass


class FieldError(Exception):
    """A field that does not hold what the API expects; `field` is a path such as `spec.ports[0].port`."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(f"{field}: {text}")
        self.field = field
        self.text = text


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that could not be read or used.

    `document` counts from 1 within the file and is 0 when the file as a whole is meant; `field` may be empty;
    `object` is `Kind namespace/name` where that much could be read.
    """

    file: str
    document: int
    field: str
    text: str
    object: str = ""

    def __str__(self) -> str:
        where = f"{self.file}, document {self.document}" if self.document else self.file
        named = f"{where} ({self.object})" if self.object else where
        return ": ".join(part for part in (named, self.field, self.text) if part)
