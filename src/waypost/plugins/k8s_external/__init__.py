"""k8s_external: names for the external addresses of a cluster's Services.

k8s_external [ZONES...] {
    apex LABEL              ttl SECONDS
    headless                fallthrough [ZONES...]
}
"""

from waypost.plugins.k8s_external.setup import setup

__all__ = ["setup"]
