"""Kubernetes objects to a compact index, and the index to answers. Pure."""
