"""waypost: what CoreDNS has no directive for: an admin endpoint, and a limit to the silence of the Kubernetes API."""

from waypost.plugins.waypost.setup import setup as setup
