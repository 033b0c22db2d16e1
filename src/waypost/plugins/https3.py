"""https3: how much a listener for DNS over HTTP/3 serves at once.

https3 {
    max_streams NUMBER
    max_connections NUMBER
}
"""

from __future__ import annotations

from typing import Final

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.dispatch.transports import DEFAULT_LIMITS
from waypost.toolkit.limit_options import parse_limits

_SCHEME: Final = "https3"
_OPTIONS: Final = {"max_streams": "streams", "max_connections": "connections"}


def setup(directive: Directive, site: Site) -> None:
    """Set the limits of the block's `https3://` listeners. Raises CorefileError."""
    site.limits[_SCHEME] = parse_limits(directive, _OPTIONS, DEFAULT_LIMITS[_SCHEME], zero=True)
