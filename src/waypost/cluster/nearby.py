"""Names that somebody may have meant: the same Service elsewhere, and spellings that are almost the one given. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

from waypost.cluster.entries import key_namespace
from waypost.cluster.index import Index

_MOST = 3
# So many are compared at most, so that an explanation takes no more than some milliseconds from a server.
_COMPARED = 2000
_CLOSE = 0.75
_LENGTH_DIFFERENCE = 3


def similar(word: bytes, known: Iterable[bytes]) -> list[str]:
    """Up to three of the known words that look like this one, the closest first."""
    size = len(word)
    candidates = (other for other in known if abs(len(other) - size) <= _LENGTH_DIFFERENCE and other != word)
    texts = [other.decode("utf-8", "replace") for other in islice(candidates, _COMPARED)]
    return get_close_matches(word.decode("utf-8", "replace"), texts, _MOST, _CLOSE)


def services_in(index: Index, namespace: bytes) -> list[bytes]:
    """The names of a namespace's Services."""
    return [key[1 : 1 + key[0]] for key in index.services if key_namespace(key) == namespace]


def namespaces_with(index: Index, service: bytes) -> list[str]:
    """Up to three namespaces, in order, that have a Service of this name."""
    label = bytes((len(service),)) + service
    found = (
        namespace.decode("utf-8", "replace")
        for namespace in sorted(index.namespaces)
        if label + bytes((len(namespace),)) + namespace in index.services
    )
    return list(islice(found, _MOST))
