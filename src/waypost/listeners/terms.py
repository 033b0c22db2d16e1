"""How a listener serves; each configuration brings its own."""

from __future__ import annotations

from typing import NamedTuple

from waypost.dispatch.timeouts import Timeouts
from waypost.dispatch.transports import Limits, TlsSettings


class Terms(NamedTuple):
    """`tls` is None for clear text."""

    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    tls: TlsSettings | None = None
