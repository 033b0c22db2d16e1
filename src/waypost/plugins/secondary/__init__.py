"""secondary: answer from zones that are transferred from their primaries."""

from waypost.plugins.secondary.setup import parse as parse
from waypost.plugins.secondary.setup import setup as setup
