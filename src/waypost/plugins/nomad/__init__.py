"""nomad: answer from the services that are registered with a Nomad cluster."""

from waypost.plugins.nomad.config import parse as parse
from waypost.plugins.nomad.setup import setup as setup
