"""The proportional autoscaler of the DNS pods: whether its parameters can be used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from waypost.diagnosis.facts import Facts
from waypost.diagnosis.finding import Outcome, failure, ok, unknown, warning
from waypost.diagnosis.flags import option
from waypost.diagnosis.objects import ConfigMap
from waypost.diagnosis.workloads import Container, Deployment
from waypost.scaling.params import LadderParams, Params, ParamsError, read_data

_NAMES: Final = frozenset(("coredns-autoscaler", "dns-autoscaler", "kube-dns-autoscaler"))
"""ConfigMaps that are the autoscaler's even if no Deployment says so."""


def judge(facts: Facts) -> Iterator[Outcome]:
    """Each ConfigMap that an autoscaler in the DNS namespace reads."""
    cluster = facts.objects()
    maps = {each.metadata.name: each for each in cluster.here(ConfigMap)}
    readers: dict[str, Container | None] = dict.fromkeys(sorted(_NAMES & maps.keys()))
    for deployment in cluster.here(Deployment):
        for container in deployment.spec.template.spec.containers:
            if option(container, "target") is not None and (name := option(container, "configmap")):
                readers[name] = container
    for name, reader in readers.items():
        place = f"ConfigMap {cluster.namespace}/{name}"
        if name in maps:
            yield _judge_data(maps[name], place)
        elif reader is not None and option(reader, "default-params"):
            yield unknown("the autoscaler has not made its ConfigMap yet", f"{place}: not there")
        else:
            yield failure(
                "the autoscaler has no parameters: replicas stay as they are",
                f"{place}: not there",
                remedy="make it with a key `linear` or `ladder`, or give the autoscaler --default-params",
            )
    if not readers:
        yield ok("no autoscaler is installed for the DNS pods")


def _judge_data(config_map: ConfigMap, place: str) -> Outcome:
    try:
        params = read_data(config_map.data)
    except ParamsError as error:
        return failure(
            "the autoscaler cannot use its parameters: replicas stay as they are",
            f"{place}: {error}",
            remedy="correct them; the autoscaler reads them again at each poll",
        )
    if doubt := _doubt(params):
        return warning(doubt, place, remedy="let the parameters give 2 replicas or more on a cluster of several nodes")
    return ok("the autoscaler's parameters can be used", place)


def _doubt(params: Params) -> str:
    if isinstance(params, LadderParams):
        steps = (*params.cores_to_replicas, *params.nodes_to_replicas)
        if not any(step.replicas for step in steps):
            return "the autoscaler's ladder asks for no replica"
        return ""
    if params.max == 1 and not params.prevent_single_point_failure:
        return "the autoscaler allows one replica at most"
    return ""
