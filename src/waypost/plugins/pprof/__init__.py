"""pprof: show over HTTP what the process spends its time and memory on."""

from __future__ import annotations

from waypost.plugins.pprof.setup import setup as setup
