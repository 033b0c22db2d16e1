"""acl: allow, refuse, empty or ignore queries by client network and type."""

from waypost.plugins.acl.config import parse as parse
from waypost.plugins.acl.setup import setup as setup
