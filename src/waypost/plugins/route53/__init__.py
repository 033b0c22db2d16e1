"""route53: answer from hosted zones of Amazon Route 53."""

from waypost.plugins.route53.config import parse as parse
from waypost.plugins.route53.setup import setup as setup
