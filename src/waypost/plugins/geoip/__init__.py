"""geoip: say where a client is and whose network it is in, as metadata labels."""

from waypost.plugins.geoip.setup import parse as parse
from waypost.plugins.geoip.setup import setup as setup
