"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Machines differ in speed and are busy: a test says what is right, never how long it may take. CI looks at the same
# examples each time; elsewhere every run looks at new ones.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes make no names: packets hold random ids, and workers must agree on what tests there are."""
    return argname if isinstance(val, bytes) else None
