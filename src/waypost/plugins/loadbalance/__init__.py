"""loadbalance: change the order of address and MX records, so that clients spread over them."""

from waypost.plugins.loadbalance.setup import parse as parse
from waypost.plugins.loadbalance.setup import setup as setup
