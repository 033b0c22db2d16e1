"""file: answer from zone files."""

from waypost.plugins.file.setup import parse as parse
from waypost.plugins.file.setup import setup as setup
