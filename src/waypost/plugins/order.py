"""The fixed order of directives: the order of setup and of the chain, whatever the order in a Corefile.

It is CoreDNS 1.14.7's, with our own `waypost`, which is in no chain. A query passes the chain from top to bottom, so
`rewrite` and `autopath` change the name before `acl` judges it and before `cache` keys on it, and what stands above
`cache` runs on cache hits too.
"""

from __future__ import annotations

ORDER: tuple[str, ...] = (
    "root", "waypost", "metadata", "geoip", "cancel", "proxyproto", "quic", "grpc_server", "https", "https3",
    "timeouts", "multisocket", "reload", "nsid", "bufsize", "bind", "debug", "trace", "ready", "health", "pprof",
    "shed", "prometheus", "errors", "log", "dnstap", "local", "dns64", "any", "chaos", "loadbalance", "tsig",
    "rewrite", "autopath", "acl", "cache", "header", "dnssec", "tls", "minimal", "template", "transfer", "hosts",
    "route53", "azure", "clouddns", "k8s_external", "kubernetes", "file", "auto", "secondary", "etcd", "loop",
    "forward", "grpc", "erratic", "whoami", "on", "sign", "view", "nomad",
)  # fmt: skip
