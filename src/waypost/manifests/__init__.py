"""Kubernetes manifests read as a cluster. Pure."""
