"""B166: an IPv6 address without brackets kept a pod from starting, with "too many colons" for a reason.

Every directive that takes an address, with every way to write one: it is taken, or the text says what was expected.
"""

from __future__ import annotations

import importlib

import pytest

from support.chain import make_directive, make_site
from waypost.corefile.errors import CorefileError

LISTEN = ("health {}", "ready {}", "prometheus {}", "waypost {{\nadmin {}\n}}")
ASK = ("forward . {}", "transfer {{\nto {}\n}}", "secondary {{\ntransfer from {}\n}}")
PLAIN = ("bind {}", "transfer {{\nto *\nsource {}\n}}")
"""Addresses without a port."""
OK = ""
NO_PORT = "missing port in address"
NOT_ONE = r"not a valid IP address|not an IP address or file|must specify an IP address"

SPELLINGS = {
    "127.0.0.1:9254": (OK, OK, NOT_ONE),
    "127.0.0.1": (NO_PORT, OK, OK),
    ":9254": (OK, NOT_ONE, NOT_ONE),
    "[fd00:db8::10]:9254": (OK, OK, NOT_ONE),
    "[fd00:db8::10]": (NO_PORT, NOT_ONE, NOT_ONE),
    "fd00:db8::10": (r"an IPv6 address needs brackets and a port: \[fd00:db8::10\]:PORT", OK, OK),
    # Without brackets nobody can tell where the port begins: it is an address of its own where that can be meant.
    "fd00:db8::10:9254": (r"an IPv6 address needs brackets: \[fd00:db8::10\]:9254", OK, OK),
    "[fe80::1%lo]:9254": (OK, OK, NOT_ONE),
    "fe80::1%lo": (r"an IPv6 address needs brackets and a port: \[fe80::1%lo\]:PORT", OK, NOT_ONE),
    "127.0.0.1:x": (r"invalid port", OK, NOT_ONE),  # an upstream is taken with a warning, as in CoreDNS
}
CASES = [
    pytest.param(text, spelling, verdicts[kind], id=f"{text.partition(' ')[0]} {spelling}")
    for kind, directives in enumerate((LISTEN, ASK, PLAIN))
    for text in directives
    for spelling, verdicts in SPELLINGS.items()
]


@pytest.mark.parametrize(("text", "spelling", "error"), CASES)
def test_every_spelling(text: str, spelling: str, error: str) -> None:
    """B166"""
    plugin = importlib.import_module(f"waypost.plugins.{text.partition(' ')[0]}")
    directive, site = make_directive(text.format(spelling)), make_site("example.org")
    if error == OK:
        plugin.setup(directive, site)
        return
    with pytest.raises(CorefileError, match=error) as caught:
        plugin.setup(directive, site)
    assert spelling in caught.value.text or spelling.rpartition(":")[2] in caught.value.text
