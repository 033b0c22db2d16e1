"""https: how many connections a listener for DNS over HTTPS holds.

https {
    max_connections NUMBER
}
"""

from __future__ import annotations

from typing import Final

from waypost.corefile.model import Directive
from waypost.dispatch.site import Site
from waypost.dispatch.transports import DEFAULT_LIMITS
from waypost.toolkit.limit_options import parse_limits

_SCHEME: Final = "https"
_OPTIONS: Final = {"max_connections": "connections"}


def setup(directive: Directive, site: Site) -> None:
    """Set the limits of the block's `https://` listeners. Raises CorefileError."""
    site.limits[_SCHEME] = parse_limits(directive, _OPTIONS, DEFAULT_LIMITS[_SCHEME], zero=True)
