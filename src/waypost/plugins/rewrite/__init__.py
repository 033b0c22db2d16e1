"""rewrite: change questions on their way in, and replies on their way out."""

from waypost.plugins.rewrite.config import parse as parse
from waypost.plugins.rewrite.setup import setup as setup
