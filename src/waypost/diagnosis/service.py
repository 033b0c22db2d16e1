"""The DNS Service and what stands behind it."""

from __future__ import annotations

from collections.abc import Iterator

from waypost.diagnosis.endpoints import SLICE_LABEL, dns_slices, ready_endpoints
from waypost.diagnosis.facts import Cluster, Facts
from waypost.diagnosis.finding import Outcome, Unknown, counted, failure, known, ok, unknown, warning
from waypost.diagnosis.ports import PORT, PROTOCOLS, cluster_ips, target_port
from waypost.diagnosis.workloads import Pod
from waypost.manifests.model import Service


def judge_service(facts: Facts) -> Iterator[Outcome]:
    """It exists and has an address."""
    cluster = facts.objects()
    services = cluster.all(Service)
    wanted = "/".join(cluster.service)
    for each in services:
        if (each.metadata.namespace, each.metadata.name) == cluster.service:
            addresses = cluster_ips(each)
            if addresses:
                yield ok(f"the DNS Service has {', '.join(addresses)}", f"Service {wanted}.spec.clusterIPs")
            else:
                yield warning(
                    "the DNS Service has no address of its own: pods cannot be told to ask it",
                    f"Service {wanted}.spec.clusterIP: {each.spec.cluster_ip or '(none)'}",
                    remedy="make it anew with the address that the kubelets hand out as clusterDNS",
                )
            return
    others = [
        f"Service {each.metadata.namespace}/{each.metadata.name} has port 53"
        for each in services
        if any(port.port == PORT for port in each.spec.ports)
    ]
    yield failure(
        f"there is no Service {wanted}",
        *others,
        remedy="make it, or name the one that pods ask with --service NAMESPACE/NAME",
    )


def judge_ports(facts: Facts) -> Iterator[Outcome]:
    """Port 53 over UDP and TCP, each with a target that the pods have."""
    cluster = facts.objects()
    service = cluster.dns_service()
    place = f"Service {'/'.join(cluster.service)}.spec.ports"
    shown = ", ".join(f"{port.name or '(no name)'} {port.port}/{port.protocol}" for port in service.spec.ports)
    healthy = True
    for protocol in PROTOCOLS:
        ports = [port for port in service.spec.ports if (port.port, port.protocol) == (PORT, protocol)]
        if not ports:
            healthy = False
            yield failure(
                f"the DNS Service does not listen on {PORT}/{protocol}",
                f"{place}: {shown or '(none)'}",
                remedy=f"add a port {PORT} with protocol {protocol}"
                + (": truncated answers are asked for again over TCP" if protocol == "TCP" else ""),
            )
        for port in ports:
            lost = [pod.metadata.name for pod in _pods(cluster) if not target_port(port, pod)]
            if lost:
                healthy = False
                yield failure(
                    f"port {PORT}/{protocol} of the DNS Service leads to a port name that pods do not have",
                    f"{place}: targetPort: {port.target_port}",
                    f"Pod {cluster.namespace}/{lost[0]} has no container port {port.target_port} of {protocol}",
                    remedy="name the container's port so, or give targetPort as a number",
                )
    if healthy:
        yield ok("the DNS Service listens over UDP and TCP", f"{place}: {shown}")


def judge_selector(facts: Facts) -> Iterator[Outcome]:
    """It selects pods, and only pods that serve DNS."""
    cluster = facts.objects()
    selector = cluster.dns_service().spec.selector
    text = ", ".join(f"{key}={value}" for key, value in selector.items())
    place = f"Service {'/'.join(cluster.service)}.spec.selector: {text or '(none)'}"
    if not selector:
        yield warning(
            "the DNS Service has no selector: its endpoints are kept by hand",
            place,
            remedy="give it the labels of the DNS pods as selector, unless that is meant so",
        )
        return
    pods = cluster.dns_pods()
    if not pods:
        yield failure(
            "the DNS Service selects no pod",
            place,
            remedy="give the Service's selector and the labels of the Deployment's pod template the same values",
        )
        return
    owners = cluster.dns_deployments()
    if len(owners) > 1:
        yield warning(
            "the DNS Service selects the pods of several Deployments",
            place,
            *(
                f"Deployment {each.metadata.namespace}/{each.metadata.name}.spec.template.metadata.labels"
                for each in owners
            ),
            remedy="leave the label to one of them: the others' answers, or replica counts, are taken for its own",
        )
    yield ok(f"the DNS Service selects {counted(len(pods), 'pod')}", place)


def judge_endpoints(facts: Facts) -> Iterator[Outcome]:
    """Some endpoints are ready, and their slices have both protocols."""
    cluster = facts.objects()
    slices = dns_slices(cluster)
    name = "/".join(cluster.service)
    if not slices:
        yield failure(
            "the DNS Service has no EndpointSlice",
            f"EndpointSlices with label {SLICE_LABEL}={cluster.service[1]} in {cluster.namespace}: none",
            remedy="check the Service's selector, and that kube-controller-manager runs",
        )
        return
    endpoints = [endpoint for each in slices for endpoint in each.endpoints]
    ready = ready_endpoints(slices)
    places = [f"EndpointSlice {cluster.namespace}/{each.metadata.name}" for each in slices]
    if not ready:
        yield failure(
            f"the DNS Service has no ready endpoint: every query to {name} is lost",
            *(
                f"{place}.endpoints: {len(each.endpoints)}, none ready"
                for place, each in zip(places, slices, strict=True)
            ),
            remedy="see why the DNS pods are not ready (their readiness probe asks /ready on port 8181)",
        )
        return
    lacking = [protocol for protocol in PROTOCOLS if not any(p.protocol == protocol for s in slices for p in s.ports)]
    for protocol in lacking:
        yield failure(
            f"no endpoint of the DNS Service takes {protocol}",
            *(f"{place}.ports: no {protocol}" for place in places),
            remedy=f"add port {PORT}/{protocol} to the Service",
        )
    if len(ready) < len(endpoints):
        lost = [", ".join(endpoint.addresses) for endpoint in endpoints if endpoint.conditions.ready is False]
        yield warning(
            f"{len(ready)} of {len(endpoints)} endpoints are ready",
            f"endpoints[].conditions.ready: false: {', '.join(lost)}",
            remedy="see why these DNS pods are not ready",
        )
    elif not lacking:
        yield ok(f"{counted(len(ready), 'ready endpoint')}", *places)


def judge_answers(facts: Facts) -> Iterator[Outcome]:
    """What asking the Service's address from here gave."""
    probes = known(facts.service_answers).probes
    for probe in probes:
        asked = f"{probe.address} over {probe.transport}"
        if probe.error:
            yield failure(
                f"DNS does not answer at {asked}",
                f"{probe.error} after {probe.seconds:.1f} s",
                remedy="look at endpoints, NetworkPolicies and kube-proxy of this node",
            )
        elif probe.rcode != "NOERROR":
            yield failure(
                f"the API server's own name does not resolve at {asked}",
                f"{probe.rcode} after {probe.seconds * 1000:.0f} ms",
                remedy="look at the DNS pods' log, and at the cluster domain in the Corefile",
            )
        else:
            yield ok(f"{asked}: an answer after {probe.seconds * 1000:.0f} ms")
    if not probes:
        yield unknown("the DNS Service has no address to ask")


def _pods(cluster: Cluster) -> list[Pod]:
    """The DNS pods as far as they are known."""
    try:
        return cluster.dns_pods()
    except Unknown:
        return []
