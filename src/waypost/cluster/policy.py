"""What the `kubernetes` directive's options change about answers."""

from __future__ import annotations

from dataclasses import dataclass

PODS_DISABLED = "disabled"
PODS_INSECURE = "insecure"
PODS_VERIFIED = "verified"


@dataclass(frozen=True, slots=True)
class Policy:
    """`ttl` in seconds; `namespaces` are the exposed ones, None for all; `pods` is one of the three modes.

    `zonal` gives headless Services names by topology zone; `imported` is set for a zone of ServiceImports.
    """

    ttl: int = 5
    pods: str = PODS_DISABLED
    namespaces: frozenset[bytes] | None = None
    endpoints: bool = True
    ignore_empty_service: bool = False
    zonal: bool = False
    imported: bool = False
