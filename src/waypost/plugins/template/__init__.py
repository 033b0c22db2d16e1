"""template: answers made of the question by Go templates."""

from waypost.plugins.template.setup import parse as parse
from waypost.plugins.template.setup import setup as setup
