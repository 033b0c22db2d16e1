"""Kubernetes API access: credentials, list and watch, files of manifests."""
