"""quic: how much a listener for DNS over QUIC serves at once.

quic {
    max_streams NUMBER
    worker_pool_size NUMBER
}
"""

from __future__ import annotations

from typing import Final

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.dispatch.transports import DEFAULT_LIMITS
from waypost.toolkit.limit_options import parse_limits

_SCHEME: Final = "quic"
_OPTIONS: Final = {"max_streams": "streams", "worker_pool_size": "waiting"}


def setup(directive: Directive, site: Site) -> None:
    """Set the limits of the block's `quic://` listeners. Raises CorefileError."""
    site.limits[_SCHEME] = parse_limits(directive, _OPTIONS, DEFAULT_LIMITS[_SCHEME], zero=False)
