"""Events of the Kubernetes API about the targets: what was changed, and what stands in the way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from waypost.autoscale.settings import Target

COMPONENT: Final = "waypost-autoscaler"
SCALED: Final = "Scaled"
FAILED: Final = "ScalingFailed"
_MAX_MESSAGE: Final = 1024


def event(target: Target, namespace: str, reason: str, message: str, now: float) -> dict[str, Any]:
    """A v1 Event; `now` is Unix time in seconds. Its name is the target's with the time, as client-go makes it."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{target.name}.{int(now * 1e9):x}", "namespace": namespace},
        "involvedObject": {
            "apiVersion": target.api_version,
            "kind": target.api_kind,
            "namespace": namespace,
            "name": target.name,
        },
        "type": "Normal" if reason == SCALED else "Warning",
        "reason": reason,
        "message": message[:_MAX_MESSAGE],
        "source": {"component": COMPONENT},
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
