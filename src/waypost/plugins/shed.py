"""shed: let the newest answers leave first, and drop queries, when a UDP socket cannot keep up.

shed
"""

from __future__ import annotations

from waypost.corefile.args import Cursor
from waypost.corefile.errors import CorefileError
from waypost.corefile.model import Directive
from waypost.corefile.quoting import quote
from waypost.dispatch.site import Site
from waypost.listeners.shedding import shed_counter


def parse(directive: Directive) -> Cursor:
    """There is nothing to set; gives the place behind the directive. Raises CorefileError."""
    cursor = Cursor(directive)
    cursor.next()
    if cursor.remaining_args():
        raise cursor.arg_err()
    if cursor.next_block():
        raise cursor.err("shed takes no options")
    if cursor.next():
        raise CorefileError.unlocated("this plugin can only be used once per Server Block")
    return cursor


def setup(directive: Directive, site: Site) -> None:
    """Mark the block: its listeners shed."""
    cursor = parse(directive)
    for address in site.addresses:
        if address.scheme != "dns":
            label = quote(f"{address.scheme}://{address.zone}:{address.port}")
            raise cursor.err(
                f"only plain DNS server blocks are supported; {label} uses transport {quote(address.scheme)}"
            )
    site.sheds = True
    shed_counter(site.metrics)
