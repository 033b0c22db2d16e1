"""auto: answer from the zone files of a directory."""

from waypost.plugins.auto.setup import parse as parse
from waypost.plugins.auto.setup import setup as setup
