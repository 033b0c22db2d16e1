"""forward: send queries to upstream resolvers."""

from waypost.plugins.forward.config import parse as parse
from waypost.plugins.forward.setup import setup as setup
