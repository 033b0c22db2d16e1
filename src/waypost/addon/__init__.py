"""What a cluster needs to run Waypost: Kubernetes objects, a kustomize base and a Helm chart made from them. Pure."""
