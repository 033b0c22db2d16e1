"""The EndpointSlices of the DNS Service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from waypost.diagnosis.facts import Cluster
from waypost.manifests.model import Endpoint, EndpointSlice

SLICE_LABEL: Final = "kubernetes.io/service-name"


def dns_slices(cluster: Cluster) -> list[EndpointSlice]:
    """Those of the DNS Service. Raises Unknown, also if there is no such Service."""
    cluster.dns_service()
    return [each for each in cluster.here(EndpointSlice) if each.metadata.labels.get(SLICE_LABEL) == cluster.service[1]]


def ready_endpoints(slices: Sequence[EndpointSlice]) -> list[Endpoint]:
    """The endpoints that are ready; unset means ready."""
    return [endpoint for each in slices for endpoint in each.endpoints if endpoint.conditions.ready is not False]
