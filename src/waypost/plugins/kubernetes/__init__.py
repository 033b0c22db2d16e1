"""kubernetes: answer for Services, endpoints and pods of a cluster.

kubernetes [ZONES...] {
    endpoint URL            tls CERT KEY CACERT       kubeconfig FILE [CONTEXT]
    manifests PATH...       namespaces NAMESPACE...   namespace_labels EXPRESSION
    labels EXPRESSION       pods MODE                 endpoint_pod_names
    ttl TTL                 noendpoints               fallthrough [ZONES...]
    ignore empty_service    startup_timeout DURATION
    snapshot PATH           multicluster ZONES...     zonal
    apiserver_qps N         apiserver_burst N         apiserver_max_inflight N
}
"""

from waypost.plugins.kubernetes.setup import setup

__all__ = ["setup"]
