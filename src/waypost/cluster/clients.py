"""Who asks: a client's address to pods (`pods verified`).

An address of the host network belongs to many pods; what they do not have in common is not known of the client.
"""

from __future__ import annotations

from waypost.cluster.entries import key_namespace
from waypost.cluster.index import Index


def client_pod(index: Index, packed: bytes) -> bytes:
    """The key of the only pod with this address, empty if there is none or several."""
    keys = index.pods.get(packed, ())
    return keys[0] if len(keys) == 1 else b""


def client_namespace(index: Index, packed: bytes) -> bytes:
    """The namespace of the pods with this address, empty if there is none or they are in several."""
    namespaces = {key_namespace(key) for key in index.pods.get(packed, ())}
    return namespaces.pop() if len(namespaces) == 1 else b""
