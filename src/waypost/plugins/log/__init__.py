"""log: a line for each query.

log [NAMES...] [FORMAT] {
    class all|success|denial|error...
}
"""

from __future__ import annotations

from waypost.plugins.log.setup import setup as setup
