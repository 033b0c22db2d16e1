"""Giving up an answer because too many wait already."""

from __future__ import annotations

import warnings
from typing import Any


def discard(answer: Any) -> None:
    """Close an awaitable that nobody has waited for yet."""
    with warnings.catch_warnings():  # that coroutines inside of it never ran is what we want
        warnings.simplefilter("ignore", RuntimeWarning)
        answer.close()
