"""tsig: verify signed queries, demand signatures, and sign replies (RFC 8945)."""

from waypost.plugins.tsig.config import parse as parse
from waypost.plugins.tsig.setup import setup as setup
