"""etcd: answer from services that are written to etcd in the layout of SkyDNS."""

from waypost.plugins.etcd.config import parse as parse
from waypost.plugins.etcd.setup import setup as setup
