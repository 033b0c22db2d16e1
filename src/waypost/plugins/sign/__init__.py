"""sign: sign zone files, and sign them again in time."""

from waypost.plugins.sign.config import parse as parse
from waypost.plugins.sign.setup import setup as setup
