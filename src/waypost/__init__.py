"""Waypost: a cluster DNS server for Kubernetes that runs CoreDNS Corefiles unchanged."""

__version__ = "0.1.0"
