"""dnstap: tell of queries and replies in dnstap's binary form."""

from __future__ import annotations

from waypost.plugins.dnstap.setup import setup as setup
