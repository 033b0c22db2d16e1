"""dnssec: sign answers as they leave (RFC 4033 to 4035; denials by RFC 4470)."""

from waypost.plugins.dnssec.config import parse as parse
from waypost.plugins.dnssec.setup import setup as setup
