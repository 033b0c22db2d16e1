"""hosts: answer from a file in the form of /etc/hosts and from lines in the Corefile."""

from waypost.plugins.hosts.setup import parse as parse
from waypost.plugins.hosts.setup import setup as setup
