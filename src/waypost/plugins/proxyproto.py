"""proxyproto: learn from a proxy's PROXY header who the client is.

proxyproto {
    allow CIDR...
    default use|ignore|reject|skip
    udp_session_tracking TTL [MAX]
}
"""

from __future__ import annotations

from waypost.corefile.args import Cursor, parse_duration, parse_int
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.networks import Networks
from waypost.corefile.quoting import quote
from waypost.dispatch.proxying import CHOICES, IGNORE, USE, ProxyPolicy
from waypost.dispatch.site import Site

_UNSERVED = ("quic", "https3")


def parse(directive: Directive) -> ProxyPolicy:
    """Options of several lines add up. Raises CorefileError."""
    cursor = Cursor(directive)
    allow: list[str] = []
    default = ""
    session: tuple[float, int] = (0.0, ProxyPolicy().max_sessions)
    for args in cursor.occurrences():
        if args:
            raise cursor.arg_err()
        for option, values in cursor.options():
            if option == "allow":
                allow += values
            elif option == "default":
                default = _choice(cursor, values)
            elif option == "udp_session_tracking":
                session = _session(cursor, values, session[1])
            else:
                raise cursor.err(f"unknown option '{option}'")
    try:
        networks = Networks.of(allow) if allow else None
    except ValueError as exc:
        raise CorefileError.unlocated(f"{exc}: invalid CIDR address: {exc}") from exc
    return ProxyPolicy(networks, default or (IGNORE if allow else USE), *session)


def _choice(cursor: Cursor, values: list[str]) -> str:
    if len(values) != 1 or values[0].lower() not in CHOICES:
        raise cursor.arg_err()
    return values[0].lower()


def _session(cursor: Cursor, values: list[str], most: int) -> tuple[float, int]:
    if not 1 <= len(values) <= 2:
        raise cursor.arg_err()
    try:
        seconds = parse_duration(values[0])
    except ValueError as exc:
        text = f"udp_session_tracking: invalid duration {quote(values[0])}: {exc}"
        raise CorefileError.unlocated(text) from exc
    if len(values) == 2:
        most = _count(values[1])
    return seconds, most


def _count(text: str) -> int:
    try:
        count = parse_int(text)
    except ValueError:
        count = 0
    if count <= 0:
        raise CorefileError.unlocated(
            f"udp_session_tracking: invalid max sessions {quote(text)}: must be a positive integer"
        )
    return count


def setup(directive: Directive, site: Site) -> None:
    """Mark the block: its listeners look for headers."""
    site.proxying = parse(directive)
    for address in site.addresses:
        if address.scheme in _UNSERVED:
            site.log.warning(f"PROXY headers are not read on {address.scheme}://{address.zone}:{address.port}")
