"""Ports as command lines name them."""

from __future__ import annotations

from waypost.corefile.addresses import parse_port


def port_number(text: str) -> str:
    """A port as digits; a service name is resolved by the system. Raises OSError for neither."""
    if text.isascii() and text.isdigit():
        try:
            return str(parse_port(text.lstrip("0") or "0"))
        except ValueError as exc:
            raise OSError(str(exc)) from None
    import socket  # only names need it

    try:
        return str(socket.getservbyname(text, "tcp"))
    except (OSError, ValueError):
        raise OSError(f"lookup tcp/{text}: unknown port") from None
