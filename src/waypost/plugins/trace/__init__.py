"""trace: tell a collector how long each plugin takes with a query."""

from __future__ import annotations

from waypost.plugins.trace.setup import setup as setup
