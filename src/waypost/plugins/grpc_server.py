"""grpc_server: how much a listener for DNS over gRPC serves at once.

grpc_server {
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

_SCHEME: Final = "grpc"
_OPTIONS: Final = {"max_streams": "streams", "max_connections": "connections"}


def setup(directive: Directive, site: Site) -> None:
    """Set the limits of the block's `grpc://` listeners. Raises CorefileError."""
    site.limits[_SCHEME] = parse_limits(directive, _OPTIONS, DEFAULT_LIMITS[_SCHEME], zero=True)
