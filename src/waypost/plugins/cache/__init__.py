"""cache: keep answers, prefetch popular ones, serve stale ones while the source is away."""

from waypost.plugins.cache.setup import parse as parse
from waypost.plugins.cache.setup import setup as setup
