"""What `python -X importtime` says, by groups."""

from __future__ import annotations

import pytest
from imports import grouped

SAID = """\
import time: self [us] | cumulative | imported package
import time:      6000 |       6000 |   asyncio.events
import time:      1000 |       7000 | asyncio
import time:      9000 |       9000 |       waypost.plugins.cache
import time:      8000 |       8000 |   waypost.wire.names
import time:      4000 |       4000 | json
"""


def test_modules_count_for_their_package() -> None:
    assert grouped(SAID + "Traceback: nothing\n") == pytest.approx(
        {"waypost.plugins": 9.0, "waypost.wire": 8.0, "asyncio": 7.0, "everything else": 4.0}
    )
